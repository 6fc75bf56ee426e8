/** The admission plugin Priority: a pod gets its priority from the PriorityClass that it names. */
import { describe, expect, test } from 'vitest'
import type { Answer, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { eventually, expectFailure, expectStatus } from '../../../support/expectations.ts'
import { object, pod } from '../../../support/objects.ts'

const cluster = useCluster()
const classes = '/apis/scheduling.k8s.io/v1/priorityclasses'

/** Retries: the server refuses pods until the namespace has its service account, and the plugin learns of classes with a delay. */
async function createPod(spec: Tree, isExpected: (answer: Answer) => boolean): Promise<Answer> {
  const path = `/api/v1/namespaces/${cluster.namespace}/pods`
  return eventually(async () => {
    const answer = await cluster.api.post(
      path,
      pod({ generateName: 'p-' }, { automountServiceAccountToken: false, ...spec }),
    )
    if (!isExpected(answer)) throw new Error(answer.text)
    return answer
  })
}

async function withClass<T>(name: string, fields: Tree, run: () => Promise<T>): Promise<T> {
  expectStatus(await cluster.api.post(classes, object('scheduling.k8s.io/v1', 'PriorityClass', name, fields)), 201)
  try {
    return await run()
  } finally {
    await cluster.api.delete(`${classes}/${name}`)
  }
}

const isCreated = ({ status }: Answer) => status === 201

describe('pod priorities', () => {
  test('a pod gets the value and the preemption policy of its PriorityClass', () =>
    withClass('conformance-high', { value: 1000, preemptionPolicy: 'Never' }, async () => {
      const { spec } = (await createPod({ priorityClassName: 'conformance-high' }, isCreated)).body
      expect(spec).toMatchObject({ priorityClassName: 'conformance-high', priority: 1000, preemptionPolicy: 'Never' })
    }))

  test('a pod of a system PriorityClass gets the value of that class', async () => {
    const { spec } = (await createPod({ priorityClassName: 'system-node-critical' }, isCreated)).body
    expect(spec).toMatchObject({ priority: 2_000_001_000, preemptionPolicy: 'PreemptLowerPriority' })
  })

  test('a pod without a PriorityClass has the priority 0', async () => {
    const { spec } = (await createPod({}, isCreated)).body
    expect(spec).toMatchObject({ priority: 0, preemptionPolicy: 'PreemptLowerPriority' })
    expect(spec).not.toHaveProperty('priorityClassName')
  })

  test('a pod of a missing PriorityClass is refused', async () => {
    const spec = { priorityClassName: 'conformance-missing' }
    const answer = await createPod(spec, ({ text }) => text.includes('PriorityClass'))
    const name = String((answer.body as unknown as { details?: { name?: string } }).details?.name ?? '')
    expectFailure(
      answer,
      403,
      'Forbidden',
      `pods "${name}" is forbidden: no PriorityClass with name conformance-missing was found`,
      {
        name,
        kind: 'pods',
      },
    )
  })

  test('a pod cannot set another priority than that of its PriorityClass', () =>
    withClass('conformance-low', { value: 10 }, async () => {
      const spec = { priorityClassName: 'conformance-low', priority: 20 }
      const answer = await createPod(spec, ({ text }) => text.includes('integer value'))
      expect(answer.status).toBe(403)
      expect(answer.body['message']).toContain(
        'is forbidden: the integer value of priority (20) must not be provided in pod spec; priority admission controller computed 10 from the given PriorityClass name',
      )
    }))

  test('a pod without a PriorityClass gets the global default class', () =>
    withClass('conformance-default', { value: 7, globalDefault: true }, async () => {
      const { spec } = (await createPod({}, (answer) => isCreated(answer) && answer.body.spec['priority'] === 7)).body
      expect(spec).toMatchObject({ priorityClassName: 'conformance-default', priority: 7 })
    }))
})
