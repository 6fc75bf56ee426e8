/** What the rest of the server uses of CEL. Nobody imports this by itself: lazy.ts does, when the first expression comes. */
export { compileConditions } from './conditions.ts'
export { createRuleValidator } from './rule-validator.ts'
export { compileRules } from './rules.ts'
