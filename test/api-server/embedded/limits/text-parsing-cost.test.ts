/** Parsing of texts from clients at n, 2n and 4n characters: the time is proportional to their length. */
import { ApiServer } from 'kopf/server'
import { describe, expect, test } from 'vitest'
import { scheduleProblem } from '../../../../src/server/builtins/cron.ts'
import { Meter } from '../../../../src/server/cel/failures.ts'
import { parseGoDuration } from '../../../../src/server/cel/library/go-times.ts'
import { compileRules } from '../../../../src/server/cel/rules.ts'
import { toCelValue } from '../../../../src/server/cel/schema-values.ts'
import { parseCron } from '../../../../src/server/controllers/workloads/cron-times.ts'
import { caBundleProblem } from '../../../../src/server/crds/validate-conversion.ts'
import type { JsonSchema } from '../../../../src/server/schema/structural.ts'
import { isDuration } from '../../../../src/server/schema/times.ts'
import { parseJsonPathTemplate } from '../../../../src/server/tables/jsonpath-parser.ts'
import { expectLinearGrowth } from '../../../support/growth.ts'
import { ask } from '../../../support/in-process.ts'
import { pod } from '../../../support/objects.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Evaluates a CEL rule of a CRD for a text. */
function evaluate(rule: string, s: string): unknown {
  const schema: JsonSchema = {
    type: 'object',
    properties: { s: { type: 'string' } },
    'x-kubernetes-validations': [{ rule }],
  }
  const { program } = compileRules(schema, false)!.rules[0]!
  return program!.evaluate([toCelValue({ s }, schema)], new Meter(10_000_000))
}

const attempt = (run: () => unknown) => {
  try {
    run()
  } catch {}
}

test.each<[string, number, (n: number) => string, (text: string) => unknown]>([
  ['trim() in CEL', 20_000, (n) => `a${' '.repeat(n)}b`, (text) => evaluate("self.s.trim() != ''", text)],
  [
    'duration() in CEL',
    10_000,
    (n) => '1'.repeat(n),
    (text) => attempt(() => evaluate("duration(self.s) == duration('1s')", text)),
  ],
  ['parsing a Go duration', 10_000, (n) => '1'.repeat(n), parseGoDuration],
  ['validating the format duration', 50_000, (n) => '1'.repeat(n), isDuration],
  ['int() in CEL', 200_000, (n) => '1'.repeat(n), (text) => attempt(() => evaluate('int(self.s) > 0', text))],
  ['validating a PEM header', 10_000, (n) => base64(`-----BEGIN X-----${'\n'.repeat(n)}`), caBundleProblem],
  ['validating several PEM headers', 2000, (n) => base64('-----BEGIN X-----\n'.repeat(n)), caBundleProblem],
  ['validating dashes in PEM', 20_000, (n) => base64('-'.repeat(n)), caBundleProblem],
  ['parsing the schedule of a cron job', 10_000, (n) => `@every ${'1'.repeat(n)}`, scheduleProblem],
  ['parsing the time zone of a cron job', 10_000, (n) => `TZ=UTC${' '.repeat(n)}* * * *\n*`, (text) => parseCron(text)],
  [
    'parsing a number in a JSONPath',
    10_000,
    (n) => `{[?(@.a==${'1'.repeat(n)}x)]}`,
    (text) => attempt(() => parseJsonPathTemplate(text)),
  ],
  [
    'parsing operators in a JSONPath',
    10_000,
    (n) => `{[?(@.a${'='.repeat(n)}\n)]}`,
    (text) => attempt(() => parseJsonPathTemplate(text)),
  ],
])('%s takes time in proportion to the length of the text', async (_, n, prepare, run) => {
  await expectLinearGrowth({ n, prepare, run: (text) => void run(text) })
})

test('validating a fieldPath of a container takes time in proportion to its length', async () => {
  const api = new ApiServer()
  await expectLinearGrowth({
    n: 10_000,
    prepare: (n) => {
      const env = [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "['".repeat(n) } } }]
      return JSON.stringify(pod('a', { containers: [{ name: 'main', image: 'nginx', env }] }))
    },
    run: async (body) => {
      expect((await ask(api, 'POST', '/api/v1/namespaces/default/pods', { body })).status).toBe(422)
    },
  })
})

describe('integer limits in CEL', () => {
  const zeros = '0'.repeat(100)
  test.each([
    [`${zeros}9223372036854775807`, true],
    [`${zeros}9223372036854775808`, false],
    ['9'.repeat(1000), false],
    [`-${zeros}9223372036854775808`, true],
  ])('int() in CEL accepts exactly the range of int64: %s', (text, isInt) => {
    const convert = () => evaluate('int(self.s) != 0', text)
    if (isInt) expect(convert()).toBe(true)
    else expect(convert).toThrow('type conversion error')
  })
})
