/**
 * Objects with a finalizer for the daemons of one operator, taken over by another: Python's Kopf and this package, in both directions.
 * The pair of two Python operators is the control: a failure there is an error of the test.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { OperatorProcess } from '../../../tools/kopf/operator-process.ts'
import type { Body } from '../../support/answers.ts'
import { useCluster } from '../../support/cluster.ts'
import { finalizer } from '../../support/handled.ts'
import { type Language, leftovers, Objects, resultOf, startOperator, useKopf } from './paired-operators.ts'

const real = inject('realCluster')
const cluster = useCluster()
useKopf()

beforeAll(() => cluster.install({ kind: 'Widget', subresources: { status: {} } }))

const pairs: ReadonlyArray<readonly [Language, Language]> = [
  ['python', 'python'],
  ['python', 'ours'],
  ['ours', 'python'],
]

describe.each(pairs)('daemons of %s, then of %s', (first, second) => {
  let widgets: Objects
  let operator: OperatorProcess
  let namespace: string
  /** The objects after the end of the first operator. */
  const left: Record<string, Body> = {}
  const cases = { taken: 'watched', gone: 'watched', lingering: 'lingering' }

  const start = (language: Language): Promise<OperatorProcess> =>
    startOperator(language, {
      name: 'daemons',
      namespace,
      kubeconfig: real.kubeconfigs.operator,
      env: { GROUP: cluster.group },
    })

  beforeAll(async () => {
    namespace = await cluster.createNamespace(`${first}-${second}`)
    const path = `/apis/${cluster.group}/v1/namespaces/${namespace}/widgets`
    widgets = new Objects(cluster.api, path, { apiVersion: `${cluster.group}/v1`, kind: 'Widget' })
    await playFirst()
    await widgets.delete('gone')
    operator = await start(second)
  }, 60_000)

  async function playFirst(): Promise<void> {
    await using beginner = await start(first)
    for (const [name, label] of Object.entries(cases)) await widgets.create(name, { case: label })
    for (const name of Object.keys(cases)) {
      await widgets.until(name, beginner, ({ metadata }) => metadata.finalizers?.includes(finalizer) ?? false)
    }
    await beginner.until((output) => output.includes('watching taken') && output.includes('watching gone'))
    await widgets.delete('lingering')
    await beginner.until((output) => output.includes('Deletion is processed: 1 succeeded; 0 failed.'))
    if (first === 'ours') await widgets.until('lingering', beginner, (body) => leftovers(body).length > 0)
    await beginner.stop()
    for (const name of Object.keys(cases)) left[name] = await widgets.get(name)
  }

  afterAll(() => operator?.stop())

  test('the finalizer and the last write of a daemon stay when the first operator stops', () => {
    for (const body of Object.values(left)) expect(body.metadata.finalizers).toEqual([finalizer])
    expect(resultOf(left['taken']!, 'watch')).toEqual({ by: first, size: 1 })
  })

  test('the second operator starts a daemon for the object, and removes the finalizer when the daemon has ended', async () => {
    await operator.until((output) => output.includes('watching taken'))
    await widgets.patch('taken', { spec: { size: 2 } })
    await widgets.delete('taken')
    await widgets.untilGone('taken', operator)
    await operator.until((output) => output.includes('watched taken: 2'))
  })

  test('an object that was deleted between the operators is released without a daemon', async () => {
    await widgets.untilGone('gone', operator)
    expect(operator.output).not.toContain('watching gone')
  })

  test('an object whose daemon outlived its delete handler is released', async () => {
    await widgets.untilGone('lingering', operator)
    // Kopf forgets a finished delete handler at once; this package remembers it while the object exists.
    if (first === 'ours') expect(operator.output).not.toContain('cleaned up lingering')
  })
})
