/**
 * Objects with the finalizer of one operator's daemons, in the hands of another: Python's Kopf and ours, in both directions.
 * Python after itself is the control: what fails there is wrong in the test.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { OperatorProcess } from '../../../tools/kopf/operator-process.ts'
import type { Body } from '../../support/answers.ts'
import { useCluster } from '../../support/cluster.ts'
import { finalizer } from '../../support/handled.ts'
import { type Language, leftovers, Objects, resultOf, startOperator, useKopf } from './support.ts'

const real = inject('realCluster')
const cluster = useCluster()
useKopf()

beforeAll(() => cluster.install({ kind: 'Widget', subresources: { status: {} } }))

const pairs: ReadonlyArray<readonly [Language, Language]> = [
  ['python', 'python'],
  ['python', 'ours'],
  ['ours', 'python'],
]

describe.each(pairs)('%s, then %s', (first, second) => {
  let widgets: Objects
  let operator: OperatorProcess
  let namespace: string
  /** As the first operator left them. */
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

  test('the finalizer stays when the first operator stops, and the last words of its daemon are there', () => {
    for (const body of Object.values(left)) expect(body.metadata.finalizers).toEqual([finalizer])
    expect(resultOf(left['taken']!, 'watch')).toEqual({ by: first, size: 1 })
  })

  test('the second has a daemon for the object, and lets it go when that has ended', async () => {
    await operator.until((output) => output.includes('watching taken'))
    await widgets.patch('taken', { spec: { size: 2 } })
    await widgets.delete('taken')
    await widgets.untilGone('taken', operator)
    await operator.until((output) => output.includes('watched taken: 2'))
  })

  test('one that was deleted meanwhile is let go without any daemon', async () => {
    await widgets.untilGone('gone', operator)
    expect(operator.output).not.toContain('watching gone')
  })

  test('one whose daemon outlived the clean-up is let go', async () => {
    await widgets.untilGone('lingering', operator)
    // Kopf forgets that it has cleaned up as soon as it has; ours keeps it in mind as long as the object is there.
    if (first === 'ours') expect(operator.output).not.toContain('cleaned up lingering')
  })
})
