/** The public JSON patch test suite, and the deviations of kube-apiserver. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Json } from '../util/json/json.ts'
import { applyJsonOperations, PatchFailure, type PatchOperation } from './patch-dialect.ts'

interface SuiteCase {
  readonly comment?: string
  readonly doc: Json
  readonly patch: PatchOperation[]
  readonly expected?: Json
  readonly error?: string
  readonly disabled?: boolean
}

/** The results of kube-apiserver that differ from the suite, by the text of document and patch; 'fails' if it rejects the patch. */
const deviations: Readonly<Record<string, Json | 'fails'>> = {
  '{"bar":[1,2]} [{"op":"add","path":"/bar/-1","value":"5"}]': { bar: [1, 2, '5'] },
  '{"foo":"bar"} [{"op":"add","path":"","value":{"baz":"qux"}}]': 'fails',
  '[1] [{"op":"add","path":"/-"}]': [1, null],
  '[1] [{"op":"replace","path":"/0"}]': [null],
  '[null] [{"op":"test","path":"/0"}]': [null],
}

function readSuite(name: string): SuiteCase[] {
  const cases = JSON.parse(readFileSync(new URL(`./testdata/${name}`, import.meta.url), 'utf8')) as SuiteCase[]
  return cases.filter(({ disabled }) => !disabled)
}

const cases = ['json-patch-tests.json', 'json-patch-spec-tests.json'].flatMap(readSuite)
const textOf = ({ doc, patch }: SuiteCase) => `${JSON.stringify(doc)} ${JSON.stringify(patch)}`
const isDeviation = (one: SuiteCase) => textOf(one) in deviations
const nameOf = (one: SuiteCase) => one.comment ?? one.error ?? JSON.stringify(one.patch)

test('the suite is whole, and the deviations are in it', () => {
  expect(cases).toHaveLength(91)
  expect(cases.filter(isDeviation)).toHaveLength(Object.keys(deviations).length)
})

describe('the public suite', () => {
  const standard = cases.filter((one) => !isDeviation(one)).map((one) => [nameOf(one), one] as const)
  test.each(standard)('%s', (_, { doc, patch, expected, error }) => {
    const before = JSON.stringify(doc)
    if (error !== undefined) expect(() => applyJsonOperations(doc, patch)).toThrow(PatchFailure)
    else expect(applyJsonOperations(doc, patch)).toEqual(expected ?? doc)
    expect(JSON.stringify(doc)).toBe(before)
  })
})

describe('where the real server goes its own way', () => {
  test.each(cases.filter(isDeviation).map((one) => [nameOf(one), one] as const))('%s', (_, one) => {
    const { doc, patch } = one
    const outcome = deviations[textOf(one)]
    if (outcome === 'fails') expect(() => applyJsonOperations(doc, patch)).toThrow(PatchFailure)
    else expect(applyJsonOperations(doc, patch)).toEqual(outcome)
  })
})
