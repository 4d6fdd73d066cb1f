export { type AlertKind, type AlertRule, alertKinds, alertRules } from './alert-rules.ts';
