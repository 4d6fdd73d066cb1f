import { AlertKind } from '@rms/proto/rms/alerts/v1/alert_pb';
import { enumNames } from '@rms/rpc';
import { alertKinds, alertRules } from '../../src/alert-rules/index.ts';

test('every kind has texts, and no two rules have the same name or subject', () => {
  expect([...alertKinds].sort()).toEqual([...enumNames(AlertKind).names].sort());
  const rules = alertKinds.map((kind) => alertRules[kind]);
  for (const text of ['name', 'subject', 'sentence'] as const) {
    expect(new Set(rules.map((rule) => rule[text])).size).toBe(alertKinds.length);
  }
  for (const { sentence } of rules) expect(sentence).toMatch(/^[A-Z].*\.$/);
});
