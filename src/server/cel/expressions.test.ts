/** Expressions with the problems, errors and estimates recorded from the Go libraries of Kubernetes 1.36.3. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../kube/objects.ts'
import { formatFieldError } from '../field-errors.ts'
import { compileSchema, type JsonSchema } from '../schema/structural.ts'
import { createRuleValidator } from './rule-validator.ts'
import { compileRules } from './rules.ts'

interface Recorded {
  readonly schema: JsonSchema
  readonly object: JsonObject
  readonly cases: ReadonlyArray<{ rule: string; problem: string; errors: readonly string[]; estimate: number }>
}

const recorded = JSON.parse(readFileSync(new URL('./testdata/expressions.json', import.meta.url), 'utf8')) as Recorded

/** From this value on, estimates saturate and are not compared exactly. */
const most = 2 ** 63

describe('an expression comes to what it does in the real server', () => {
  test.each(recorded.cases)('$rule', ({ rule, problem, errors, estimate }) => {
    const schema: JsonSchema = { ...recorded.schema, 'x-kubernetes-validations': [{ rule }] }
    const compiled = compileRules(schema, false)!.rules[0]!
    expect(compiled.problem ?? '').toBe(problem)
    if (problem !== '') return
    expect(Math.min(compiled.cost, most)).toBe(Math.min(estimate, most))
    const found = createRuleValidator(compileSchema(schema)).validate(recorded.object)
    expect(found.map(formatFieldError)).toEqual(errors)
  })
})
