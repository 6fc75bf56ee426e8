/** Exports of the CEL engine to the server. Only lazy.ts imports this file, and only when the first expression arrives. */
export { compileConditions } from './conditions.ts'
export { createRuleValidator } from './rule-validator.ts'
export { compileRules } from './rules.ts'
