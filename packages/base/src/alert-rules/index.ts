export {
  type AlertKind,
  type AlertRule,
  alertKinds,
  alertRules,
  severities,
  severityOf,
} from './alert-rules.ts';
