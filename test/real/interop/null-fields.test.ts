/**
 * Null and absent fields in Python's Kopf and in this package. In Kopf, the diff treats null as absent, but the field filter does not, so
 * its handlers are called with an empty diff. This package treats null as absent in both.
 */
import { beforeAll, describe, expect, inject, test } from 'vitest'
import type { OperatorProcess } from '../../../tools/kopf/operator-process.ts'
import type { Body } from '../../support/answers.ts'
import { useCluster } from '../../support/cluster.ts'
import { annotationsOf, type Language, Objects, startOperator, useKopf } from './paired-operators.ts'

const real = inject('realCluster')
const cluster = useCluster()
useKopf()

beforeAll(() => cluster.install({ kind: 'Widget', subresources: { status: {} } }))

const handled = (spec: object) => (body: Body) => {
  const text = annotationsOf(body)['kopf.zalando.org/last-handled-configuration']
  return text !== undefined && JSON.stringify(JSON.parse(text).spec) === JSON.stringify(spec)
}

const callsIn = ({ output }: OperatorProcess): string[] =>
  [...output.matchAll(/called (.*?);/g)].map(([, call]) => call!).sort()

/** The calls of each run of the operator. */
async function play(language: Language): Promise<string[][]> {
  const namespace = await cluster.createNamespace(`nulls-${language}`)
  const path = `/apis/${cluster.group}/v1/namespaces/${namespace}/widgets`
  const widgets = new Objects(cluster.api, path, { apiVersion: `${cluster.group}/v1`, kind: 'Widget' })
  const runs: string[][] = []
  const run = async (work: (operator: OperatorProcess) => Promise<unknown>): Promise<void> => {
    const env = { GROUP: cluster.group }
    await using operator = await startOperator(language, {
      name: 'nulls',
      namespace,
      kubeconfig: real.kubeconfigs.operator,
      env,
    })
    await work(operator)
    await operator.stop()
    runs.push(callsIn(operator))
  }
  const resumed = (operator: OperatorProcess) => operator.until((output) => output.includes('called resumed'))
  await run(async (operator) => {
    await widgets.create('one', {}, { deep: { b: 1 } })
    await widgets.until('one', operator, handled({ deep: { b: 1 } }))
  })
  const nulls = { a: null, deep: { b: 1, c: null } }
  await cluster.api.jsonPatch(`${path}/one`, [{ op: 'replace', path: '/spec', value: nulls }])
  await run(resumed)
  await run(resumed)
  await run(async (operator) => {
    await resumed(operator)
    await cluster.api.jsonPatch(`${path}/one`, [{ op: 'replace', path: '/spec/a', value: 'x' }])
    await widgets.until('one', operator, handled({ a: 'x', deep: { b: 1, c: null } }))
    await cluster.api.jsonPatch(`${path}/one`, [{ op: 'replace', path: '/spec/a', value: null }])
    await widgets.until('one', operator, handled({ a: null, deep: { b: 1, c: null } }))
    await widgets.delete('one')
    await widgets.untilGone('one', operator)
  })
  return runs
}

const isEmpty = (call: string) => / \[\]$/.test(call) && !/^(resumed|deleted) /.test(call)

describe('handlers of a field that was absent and is null', () => {
  let python: string[][]
  let ours: string[][]

  beforeAll(async () => {
    python = await play('python')
    ours = await play('ours')
  }, 120_000)

  test('Python’s Kopf calls the handler of a field with an empty diff when an absent field becomes null, once, after a restart', () => {
    expect(python[1]).toEqual(['a resume []', 'deep resume []', 'resumed resume []'])
    expect(python[2]).toEqual(['resumed resume []'])
  })

  test('the TypeScript operator does not call the handler of a field when an absent field becomes null', () => {
    expect(ours.flat().filter(isEmpty)).toEqual([])
  })

  test('both operators call the handler of a field with the same diffs when a null field gets a value and loses it', () => {
    const changes = (runs: string[][]) => runs.map((calls) => calls.filter((call) => !isEmpty(call)))
    expect(changes(ours)).toEqual(changes(python))
    expect(ours.at(-1)).toEqual(
      [
        'a update [["add",[],null,"x"]]',
        'a update [["remove",[],"x",null]]',
        'deleted delete []',
        'present update [["add",[],null,"x"]]',
        'present update [["remove",[],"x",null]]',
        'resumed resume []',
        'updated update [["add",[],null,"x"]]',
        'updated update [["remove",[],"x",null]]',
      ].sort(),
    )
  })
})
