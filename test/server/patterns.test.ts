/** Texts that clients choose, at n, 2n and 4n characters: reading them takes time in proportion to their length. */
import { ApiServer } from 'kopf/server'
import { describe, expect, test } from 'vitest'
import { scheduleProblem } from '../../src/server/builtins/cron.ts'
import { Meter } from '../../src/server/cel/failures.ts'
import { parseGoDuration } from '../../src/server/cel/library/go-times.ts'
import { compileRules } from '../../src/server/cel/rules.ts'
import { toCelValue } from '../../src/server/cel/schema-values.ts'
import { parseCron } from '../../src/server/controllers/life/cron-times.ts'
import { caBundleProblem } from '../../src/server/crds/validate-conversion.ts'
import type { JsonSchema } from '../../src/server/schema/structural.ts'
import { isDuration } from '../../src/server/schema/times.ts'
import { parseJsonPathTemplate } from '../../src/server/tables/jsonpath-parser.ts'
import { expectLinearGrowth } from '../support/growth.ts'
import { ask } from '../support/in-process.ts'
import { pod } from '../support/objects.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** What the rule says of a text, as a rule of a CRD does. */
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
  ['a Go duration', 10_000, (n) => '1'.repeat(n), parseGoDuration],
  ['the format duration', 50_000, (n) => '1'.repeat(n), isDuration],
  ['int() in CEL', 200_000, (n) => '1'.repeat(n), (text) => attempt(() => evaluate('int(self.s) > 0', text))],
  ['a PEM header', 10_000, (n) => base64(`-----BEGIN X-----${'\n'.repeat(n)}`), caBundleProblem],
  ['PEM headers', 2000, (n) => base64('-----BEGIN X-----\n'.repeat(n)), caBundleProblem],
  ['dashes in PEM', 20_000, (n) => base64('-'.repeat(n)), caBundleProblem],
  ['the period of a cron job', 10_000, (n) => `@every ${'1'.repeat(n)}`, scheduleProblem],
  ['the time zone of a cron job', 10_000, (n) => `TZ=UTC${' '.repeat(n)}* * * *\n*`, (text) => parseCron(text)],
  [
    'a number in a JSONPath',
    10_000,
    (n) => `{[?(@.a==${'1'.repeat(n)}x)]}`,
    (text) => attempt(() => parseJsonPathTemplate(text)),
  ],
  [
    'operators in a JSONPath',
    10_000,
    (n) => `{[?(@.a${'='.repeat(n)}\n)]}`,
    (text) => attempt(() => parseJsonPathTemplate(text)),
  ],
])('%s', async (_, n, prepare, run) => {
  await expectLinearGrowth({ n, prepare, run: (text) => void run(text) })
})

test('the path of a field in the environment of a container', async () => {
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

describe('the limits of integers are the same however long their texts are', () => {
  const zeros = '0'.repeat(100)
  test.each([
    [`${zeros}9223372036854775807`, true],
    [`${zeros}9223372036854775808`, false],
    ['9'.repeat(1000), false],
    [`-${zeros}9223372036854775808`, true],
  ])('%s', (text, isInt) => {
    const convert = () => evaluate('int(self.s) != 0', text)
    if (isInt) expect(convert()).toBe(true)
    else expect(convert).toThrow('type conversion error')
  })
})
