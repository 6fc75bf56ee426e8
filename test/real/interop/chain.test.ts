/**
 * Handlers that wait for what the handlers before them have left in the status, labels and annotations: Kopf writes after each of them,
 * ours once for all. They must see the same, and neither may wait for a delay.
 */
import { beforeAll, expect, inject, test } from 'vitest'
import type { Body } from '../../support/answers.ts'
import { useCluster } from '../../support/cluster.ts'
import { isHandled, type Language, leftovers, Objects, resultOf, startOperator, useKopf } from './support.ts'

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

test.each<Language>(['python', 'ours'])('with %s, a chain of handlers passes without a retry', async (language) => {
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
})

test.each<Language>(['python', 'ours'])(
  'with %s, a field handler is called for what other handlers write',
  async (language) => {
    const { widgets, operator: started } = await begin(language, 'fields')
    await using operator = started
    await widgets.create('object')
    await widgets.until('object', operator, () => operator.output.includes('seen: update from nothing to Ready'))
    await widgets.delete('object')
    await widgets.untilGone('object', operator)
    const seen = operator.output.match(/seen: .*/g)
    expect(seen).toEqual(['seen: update from nothing to Ready', 'seen: delete from Ready to Cleaning'])
  },
)
