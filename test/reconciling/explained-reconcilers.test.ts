/** What `operator.explain` says about reconcilers and their children, as the API server has them. */
import { type KubeObject, Operator } from 'kopf'
import { expect, test } from 'vitest'
import { settle } from '../support/handled.ts'
import { configMap, deployment, useReconcilingLab } from './reconciling-support.ts'

const { lab, reconciling } = useReconcilingLab()

/** Reads an object with its managed fields, which `lab.call` leaves out of the body. */
async function readWhole(path: string): Promise<KubeObject> {
  return JSON.parse((await lab.call('GET', path)).text)
}

test('the explanation of a reconciled object has its children with their readiness, and fields of other managers', async () => {
  const kopf = new Operator({ name: 'painter' })
  const options = { id: 'paint', owns: ['configmaps', 'deployments.apps'], resync: '1h' } as const
  kopf.reconcile(lab.widgets, options, ({ name }) => ({
    children: [[configMap(`${name}-a`, { color: 'red' }), configMap(`${name}-b`)], [deployment(`${name}-d`, 2)]],
  }))
  const running = await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.create('two', { spec: {} })
  for (const name of ['one', 'two']) await reconciling.untilThere(`${name}-d`, 'deployments')
  await settle(lab)
  await lab.stop(running)
  const edit = `${reconciling.path('one-a')}?fieldManager=kubectl-edit`
  await lab.call('PATCH', edit, { data: { color: 'blue', shape: 'round' } }, 'application/merge-patch+json')

  const paths = [
    ...['one-d', 'two-d'].map((name) => reconciling.path(name, 'deployments')),
    ...['one-a', 'one-b', 'two-a'].map((name) => reconciling.path(name)),
  ]
  const children = await Promise.all(paths.map(readWhole))
  const body = (await lab.get('one')) as unknown as KubeObject
  const { reconcilers, childrenApplied } = kopf.explain(lab.widgets, body, { children })
  const applied = expect.stringMatching(/^\d{4}-/)
  const { namespace } = lab
  expect(childrenApplied).toBeUndefined()
  expect(reconcilers).toEqual([
    {
      id: 'paint',
      owns: ['configmaps', 'deployments.apps'],
      watches: [],
      resync: 3600,
      lastApplied: applied,
      children: [
        {
          ...{ apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'one-a', group: 0, isReady: true, applied },
          foreign: [{ manager: 'kubectl-edit', time: applied, fields: ['data.color', 'data.shape'] }],
        },
        {
          ...{ apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'one-b', group: 0, isReady: true, applied },
          foreign: [],
        },
        expect.objectContaining({ kind: 'Deployment', name: 'one-d', group: 1, isReady: false }),
      ],
    },
  ])
  // Without the children, the explanation has none.
  expect(kopf.explain(lab.widgets, body).reconcilers[0]).not.toHaveProperty('children')
})
