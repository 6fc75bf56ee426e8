/**
 * `kopf explain` and `kopf release` on objects that Python's Kopf has left unfinished on a real control plane. Python has ended
 * before, so that no other process writes the objects.
 */
import { resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
import type { OperatorProcess } from '../../../tools/kopf/operator-process.ts'
import { Folder, KopfCommand, stopCommands } from '../../cli/run-support.ts'
import type { Body } from '../../support/answers.ts'
import { useCluster } from '../../support/cluster.ts'
import { isHandled, Objects, progressOf, startOperator, useKopf } from '../interop/paired-operators.ts'

const real = inject('realCluster')
const cluster = useCluster()
useKopf()

const operatorFile = resolve('test/real/interop/operators/handover.ts')
const finalizer = 'kopf.zalando.org/KopfFinalizerMarker'

/** The state of each object after which Python is stopped. The label of an object is its name. */
const reached: Readonly<Record<string, (body: Body) => boolean>> = {
  retries: (body) => (progressOf(body, 'retries')?.retries ?? 0) >= 2,
  family: (body) => (progressOf(body, 'family.b')?.retries ?? 0) >= 1 && progressOf(body, 'family.a')?.success === true,
  changed: isHandled,
  deleted: (body) => body.metadata.finalizers?.length === 1,
  deleting: (body) => body.metadata.finalizers?.length === 1,
}

let folder: Folder
let widgets: Objects
let python: OperatorProcess

beforeAll(async () => {
  folder = new Folder()
  await cluster.install({ kind: 'Widget', subresources: { status: {} } })
  const { group, namespace } = cluster
  const apiVersion = `${group}/v1`
  widgets = new Objects(cluster.api, cluster.custom('widgets'), { apiVersion, kind: 'Widget' })
  const env = { GROUP: group, PHASE: 'first' }
  python = await startOperator('python', { name: 'handover', namespace, kubeconfig: real.kubeconfigs.operator, env })
  for (const name of Object.keys(reached)) await widgets.create(name, { case: name })
  for (const [name, holds] of Object.entries(reached)) await widgets.until(name, python, holds)
  await python.stop()
  await widgets.patch('changed', { spec: { size: 2 } })
  await widgets.patch('deleting', { metadata: { finalizers: ['example.com/first', finalizer, 'example.com/last'] } })
  await widgets.delete('deleted')
}, 120_000)
afterEach(stopCommands)
afterAll(async () => {
  await python.stop()
  folder.remove()
})

/** With the group: another test file may have left a CRD with the same names that is still being deleted. */
const resourceName = () => `widgets.${cluster.group}`

async function kopf(args: readonly string[], kubeconfig: string = real.kubeconfigs.operator) {
  const options = ['-n', cluster.namespace, '--kubeconfig', kubeconfig]
  const one = new KopfCommand(folder, [...args, ...options], { GROUP: cluster.group, PHASE: 'second' })
  return { exit: await one.exit, stdout: one.stdout, stderr: one.stderr }
}

interface Explained {
  readonly reason: string
  readonly progress: ReadonlyArray<{ readonly id: string; readonly state: string; readonly retries: number }>
  readonly handlers: ReadonlyArray<{ readonly id: string; readonly kind: string; readonly verdict: string }>
  readonly changes: readonly object[]
  readonly finalizers: readonly object[]
}

async function explain(name: string): Promise<Explained> {
  const file = ['--file', operatorFile, '--output', 'json']
  const { exit, stdout, stderr } = await kopf(['explain', resourceName(), name, ...file])
  expect([exit, stderr]).toEqual([0, ''])
  return JSON.parse(stdout) as Explained
}

function verdictOf({ handlers }: Explained, id: string, kind: string = 'create'): string | undefined {
  return handlers.find((one) => one.id === id && one.kind === kind)?.verdict
}

describe('kopf explain', { timeout: 60_000 }, () => {
  test('kopf explain shows the retries that Python’s Kopf has started', async () => {
    const explained = await explain('retries')
    expect(explained).toMatchObject({
      reason: 'create',
      progress: [{ id: 'retries', state: 'due', purpose: 'create' }],
    })
    expect(explained.progress[0]!.retries).toBeGreaterThanOrEqual(2)
    expect(verdictOf(explained, 'retries')).toBe('now')
    expect(verdictOf(explained, 'made')).toBe('no')
    const { stdout } = await kopf(['explain', resourceName(), 'retries'])
    expect(stdout).toMatch(/retries +create: is due; \d+ attempts, started .* ago\): not yet/)
  })

  test('kopf explain shows the sub-handlers that Python’s Kopf has finished', async () => {
    const { progress } = await explain('family')
    expect(progress.map(({ id, state }) => [id, state])).toEqual([
      ['family', 'due'],
      ['family/a', 'succeeded'],
      ['family/b', 'due'],
    ])
  })

  test('kopf explain shows the changes since Python’s Kopf handled the object', async () => {
    const explained = await explain('changed')
    expect(explained.changes).toEqual([{ operation: 'change', field: ['spec', 'size'], old: 1, new: 2 }])
    expect(verdictOf(explained, 'changed', 'update')).toBe('now')
  })

  test('kopf explain shows the finalizer of Python’s Kopf on a deleted object', async () => {
    const explained = await explain('deleted')
    expect(explained).toMatchObject({ reason: 'delete', finalizers: [{ name: finalizer, isOurs: true }] })
    expect(verdictOf(explained, 'cleanup', 'delete')).toBe('now')
  })

  test('kopf explain without permission names the missing RBAC rule', async () => {
    const { exit, stderr } = await kopf(['explain', `widgets.${cluster.group}`, 'retries'], real.kubeconfigs.nobody)
    expect(exit).toBe(1)
    expect(stderr).toBe(
      `kopf: Cannot explain widgets.${cluster.group} "retries": this user lacks the permission; a role needs the rule ` +
        `{"apiGroups":["${cluster.group}"],"resources":["widgets"],"verbs":["get"]}\n`,
    )
  })
})

describe('kopf release', { timeout: 60_000 }, () => {
  test('kopf release removes the finalizer of Python’s Kopf, and keeps the others in order', async () => {
    expect(await kopf(['release', resourceName(), 'deleting'])).toMatchObject({
      exit: 0,
      stdout: 'Released 1 object.\n',
    })
    expect((await widgets.get('deleting')).metadata.finalizers).toEqual(['example.com/first', 'example.com/last'])
    await widgets.patch('deleting', { metadata: { finalizers: [] } })
  })

  test('kopf release lets a deleted object go', async () => {
    const { exit, stdout, stderr } = await kopf(['release', resourceName(), '--all', '--yes'])
    expect([exit, stdout]).toEqual([0, 'Released 1 object.\n'])
    expect(stderr).toContain(`  ${cluster.namespace}/deleted (being deleted)\n`)
    expect((await cluster.api.get(cluster.custom('widgets/deleted'))).status).toBe(404)
  })
})
