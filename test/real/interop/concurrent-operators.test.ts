/**
 * Two operators on the same objects at the same time, each with its own prefix: neither treats the annotations of the other as a
 * change, so both stop writing, as the audit log shows. The pair of two Python operators is the control.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ControlPlane, startControlPlane } from '../../../tools/envtest/control-plane.ts'
import { AuditLog, isWrite } from '../../../tools/kopf/audit-log.ts'
import type { OperatorProcess } from '../../../tools/kopf/operator-process.ts'
import type { Body } from '../../support/answers.ts'
import { Api } from '../../support/api.ts'
import { crd, installCrd } from '../../support/crds.ts'
import { expectStatus } from '../../support/expectations.ts'
import { type Language, Objects, resultOf, startOperator, useKopf } from './paired-operators.ts'

const group = 'neighbours.example.com'
const apiVersion = `${group}/v1`
const quietMs = 10_000

useKopf()
let plane: ControlPlane
let api: Api

beforeAll(async () => {
  plane = await startControlPlane({ audit: true, controllers: false })
  api = new Api({ url: plane.url, caPem: plane.caPem, credentials: plane.admin })
  await installCrd(api, crd({ group, kind: 'Widget', subresources: { status: {} } }))
})

afterAll(async () => {
  api?.close()
  await plane?.stop()
})

const neighbours = [
  { id: 'one', prefix: 'one.example.com' },
  { id: 'two', prefix: 'two.example.com' },
]

async function startBoth(languages: readonly [Language, Language], namespace: string): Promise<OperatorProcess[]> {
  const kubeconfig = plane.kubeconfigs.operator
  return Promise.all(
    neighbours.map(({ id, prefix }, index) => {
      const env = { GROUP: group, PREFIX: prefix, ID: id }
      return startOperator(languages[index]!, { name: 'neighbour', namespace, kubeconfig, env })
    }),
  )
}

const hasSize = (size: number) => (body: Body) =>
  neighbours.every(({ id }) => ['first', 'second'].every((name) => resultOf(body, `${id}-${name}`)?.['size'] === size))

/** No handling is in progress: each prefix has only the annotations that stay between two changes. */
const isAtRest = (body: Body) => {
  const names = Object.keys(body.metadata.annotations ?? {})
  return names.every((name) => name.endsWith('/last-handled-configuration') || name.endsWith('/kopf-managed'))
}

const pairs: ReadonlyArray<readonly [Language, Language]> = [
  ['python', 'python'],
  ['python', 'ours'],
]

describe.concurrent('concurrent operators', () => {
  test.each(pairs)(
    'operators of %s and %s handle the same object, stop writing, and both clean up',
    { timeout: 60_000 },
    async (...languages) => {
      const namespace = languages.join('-')
      expectStatus(await api.post('/api/v1/namespaces', { metadata: { name: namespace } }), 201)
      const path = `/apis/${apiVersion}/namespaces/${namespace}/widgets`
      const widgets = new Objects(api, path, { apiVersion, kind: 'Widget' })
      const operators = await startBoth(languages, namespace)
      try {
        const operator = operators[1]!
        await widgets.create('shared')
        await widgets.until('shared', operator, hasSize(1))
        await widgets.patch('shared', { spec: { size: 2 } })
        const handled = await widgets.until('shared', operator, (body) => hasSize(2)(body) && isAtRest(body))
        expect(handled.metadata.finalizers?.toSorted()).toEqual(neighbours.map(({ prefix }) => `${prefix}/finalizer`))

        const writes = await writesDuring(namespace, quietMs)
        expect(writes).toEqual([])

        await widgets.delete('shared')
        await widgets.untilGone('shared', operator)
        for (const each of operators) await each.until((output) => output.includes('cleaned up shared'))
      } finally {
        await Promise.all(operators.map((each) => each.stop()))
      }
    },
  )
})

/** Waits for a fixed time, since only time shows that no writes follow. */
async function writesDuring(namespace: string, ms: number): Promise<string[]> {
  const log = new AuditLog(plane.auditLog!)
  log.read()
  await sleep(ms)
  const writes = log.read().filter((entry) => isWrite(entry) && entry.namespace === namespace)
  return writes.map(({ user, verb, uri }) => `${user} ${verb} ${uri}`)
}
