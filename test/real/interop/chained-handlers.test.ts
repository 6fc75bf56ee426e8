/**
 * Handlers that wait for the status, labels and annotations of earlier handlers: Kopf writes after each handler, this package once for
 * all. The handlers must get the same values in both, without a delay.
 */
import { beforeAll, expect, inject, test } from 'vitest'
import type { Body } from '../../support/answers.ts'
import { useCluster } from '../../support/cluster.ts'
import { isHandled, type Language, leftovers, Objects, resultOf, startOperator, useKopf } from './paired-operators.ts'

const real = inject('realCluster')
const cluster = useCluster()
useKopf()

beforeAll(async () => {
  await cluster.install({ kind: 'Widget', subresources: { status: {} } })
})

async function begin(language: Language, name: string) {
  const namespace = await cluster.createNamespace(`${name}-${language}`)
  const path = `/apis/${cluster.group}/v1/namespaces/${namespace}/widgets`
  const widgets = new Objects(cluster.api, path, { apiVersion: `${cluster.group}/v1`, kind: 'Widget' })
  const env = { GROUP: cluster.group }
  const operator = await startOperator(language, { name, namespace, kubeconfig: real.kubeconfigs.operator, env })
  return { widgets, operator }
}

/** Kopf writes the object first, and then the status. */
const isFinished = (body: Body): boolean =>
  isHandled(body) && leftovers(body).length === 0 && resultOf(body, 'family/second') !== undefined

test.each<Language>(['python', 'ours'])(
  'with %s, handlers that read the writes of earlier handlers need no retry',
  async (language) => {
    const { widgets, operator: started } = await begin(language, 'chain')
    await using operator = started
    await widgets.create('object')
    const body = await widgets.until('object', operator, isFinished)
    expect(body.metadata.labels).toMatchObject({ tier: 'gold' })
    expect(body.status).toEqual({
      network: '10.0.0.0/8',
      gold: 'called',
      disks: { tier: 'gold', retry: 0 },
      users: { disks: 'gold', failure: true, retry: 0 },
      phase: 'Ready',
      'family/first': 'of the first',
      'family/second': { seen: 'of the first', retry: 0 },
    })
  },
)

test.each<Language>(['python', 'ours'])(
  'with %s, a field handler is called for changes by other handlers',
  async (language) => {
    const { widgets, operator: started } = await begin(language, 'field-handlers')
    await using operator = started
    await widgets.create('object')
    await widgets.until('object', operator, () => operator.output.includes('seen: update from nothing to Ready'))
    await widgets.delete('object')
    await widgets.untilGone('object', operator)
    const seen = operator.output.match(/seen: .*/g)
    expect(seen).toEqual(['seen: update from nothing to Ready', 'seen: delete from Ready to Cleaning'])
  },
)
