/**
 * The control plane that the other tests of the project "real" rely on: it is a real one with RBAC, it can be killed and restarted,
 * and it leaves no processes and files.
 */
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { type ApiAnswer, type ApiCall, callApi } from '../../tools/envtest/api.ts'
import type { Credentials } from '../../tools/envtest/certificates.ts'
import { type ControlPlane, startControlPlane } from '../../tools/envtest/control-plane.ts'
import type { Pids } from '../../tools/envtest/processes.ts'

interface Target {
  readonly url: string
  readonly caPem: string
  readonly admin: Credentials
}

const controlPlaneModule = new URL('../../tools/envtest/control-plane.ts', import.meta.url).href
const configMaps = '/api/v1/namespaces/default/configmaps'

const asAdmin = ({ url, caPem, admin: user }: Target, call: ApiCall): Promise<ApiAnswer> =>
  callApi({ url, caPem, user }, call)

const uniqueName = (): string => `test-${randomBytes(4).toString('hex')}`

async function createConfigMap(target: Target, metadata: object, path: string = configMaps): Promise<string> {
  const answer = await asAdmin(target, { method: 'POST', path, body: { metadata } })
  expect(answer).toMatchObject({ status: 201 })
  return (answer.body as { metadata: { uid: string } }).metadata.uid
}

const statusOf = async (target: Target, path: string): Promise<number> => (await asAdmin(target, { path })).status

/** A process whose parent died stays in the process table as a zombie until its exit status is read. Zombies do not count. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/^\d+ \(.*\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

const runningOf = (pids: Pids): string[] =>
  Object.entries(pids).flatMap(([name, pid]) => (pid !== undefined && isRunning(pid) ? [name] : []))

describe('the control plane of this run', () => {
  const cluster = inject('realCluster')
  const as = (user: Credentials | undefined, call: ApiCall): Promise<ApiAnswer> =>
    callApi({ url: cluster.url, caPem: cluster.caPem, ...(user && { user }) }, call)

  test('the control plane serves with a certificate of its own authority', async () => {
    expect(cluster.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    expect((await as(cluster.admin, { path: '/version' })).body).toMatchObject({ major: '1' })
    await expect(callApi({ url: cluster.url, caPem: '' }, { path: '/version' })).rejects.toThrow(/certificate/)
  })

  test.each([
    ['a user without a certificate', undefined, 'system:anonymous'],
    ['a user without permissions', cluster.nobody, 'nobody'],
  ])('the control plane refuses %s', async (_, user, name) => {
    const answer = await as(user, { path: configMaps })
    expect(answer.status).toBe(403)
    expect(answer.body).toMatchObject({
      reason: 'Forbidden',
      message: `configmaps is forbidden: User "${name}" cannot list resource "configmaps" in API group "" in the namespace "default"`,
    })
  })

  test('the control plane grants and revokes permissions with a role binding', async () => {
    const base = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
    const metadata = { name: uniqueName() }
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name }
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'nobody' }]
    const list = async (): Promise<number> => (await as(cluster.nobody, { path: configMaps })).status

    await as(cluster.admin, { method: 'POST', path: `${base}/roles`, body: { metadata, rules } })
    await as(cluster.admin, { method: 'POST', path: `${base}/rolebindings`, body: { metadata, roleRef, subjects } })
    await expect.poll(list, { timeout: 10_000 }).toBe(200)
    await as(cluster.admin, { method: 'DELETE', path: `${base}/rolebindings/${metadata.name}` })
    await as(cluster.admin, { method: 'DELETE', path: `${base}/roles/${metadata.name}` })
    await expect.poll(list, { timeout: 10_000 }).toBe(403)
  })

  test('the control plane allows the operator user all resources, and no other paths', async () => {
    const metadata = { name: uniqueName() }
    const created = await as(cluster.operator, { method: 'POST', path: configMaps, body: { metadata } })
    expect(created).toMatchObject({ status: 201 })
    const deleted = await as(cluster.operator, { method: 'DELETE', path: `${configMaps}/${metadata.name}` })
    expect(deleted).toMatchObject({ status: 200 })
    expect(await as(cluster.operator, { path: '/metrics' })).toMatchObject({ status: 403 })
  })

  test('the control plane works with its kubectl and its kubeconfigs', async () => {
    const kubectl = async (kubeconfig: string, ...args: string[]): Promise<string> => {
      const { stdout } = await promisify(execFile)(cluster.kubectl, args, {
        env: { KUBECONFIG: kubeconfig, HOME: dirname(kubeconfig) },
      })
      return stdout.trim()
    }
    expect(await kubectl(cluster.kubeconfigs.admin, 'get', 'namespace/default', '--output=name')).toBe(
      'namespace/default',
    )
    const who = ['auth', 'whoami', '--output=jsonpath={.status.userInfo.username}']
    expect(await kubectl(cluster.kubeconfigs.operator, ...who)).toBe('operator')
    await expect(kubectl(cluster.kubeconfigs.nobody, 'get', 'configmaps')).rejects.toThrow('(Forbidden)')
  })

  describe.runIf(cluster.hasControllers)('controllers of the control plane', () => {
    test('the control plane deletes a namespace and everything in it', async () => {
      const name = uniqueName()
      const path = `/api/v1/namespaces/${name}`
      expect(
        await as(cluster.admin, { method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name } } }),
      ).toMatchObject({ status: 201 })
      await createConfigMap(cluster, { name: 'inside' }, `${path}/configmaps`)
      expect(await as(cluster.admin, { method: 'DELETE', path })).toMatchObject({ status: 200 })
      await expect.poll(() => statusOf(cluster, path), { timeout: 20_000 }).toBe(404)
      expect(await statusOf(cluster, `${path}/configmaps/inside`)).toBe(404)
    })

    test('the control plane garbage-collects the dependents of a deleted object', async () => {
      const [owner, owned] = [uniqueName(), uniqueName()]
      const uid = await createConfigMap(cluster, { name: owner })
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: owner, uid }]
      await createConfigMap(cluster, { name: owned, ownerReferences })
      await as(cluster.admin, { method: 'DELETE', path: `${configMaps}/${owner}` })
      await expect.poll(() => statusOf(cluster, `${configMaps}/${owned}`), { timeout: 20_000 }).toBe(404)
    })

    test('the control plane admits a pod with the default service account', async () => {
      const metadata = { name: uniqueName() }
      const body = { metadata, spec: { containers: [{ name: 'main', image: 'example' }] } }
      const path = '/api/v1/namespaces/default/pods'
      const answer = await as(cluster.admin, { method: 'POST', path, body })
      expect(answer).toMatchObject({ status: 201, body: { spec: { serviceAccountName: 'default' } } })
      await as(cluster.admin, { method: 'DELETE', path: `${path}/${metadata.name}?gracePeriodSeconds=0` })
    })
  })
})

describe('the control plane of a test', () => {
  let plane: ControlPlane

  beforeAll(async () => {
    plane = await startControlPlane({ audit: true })
  })
  afterAll(() => plane.stop())

  /** Breaks the control plane, and expects that stored objects are served again at the same address. */
  async function expectToKeepObjects(fault: () => Promise<void>): Promise<void> {
    const { url } = plane
    const name = uniqueName()
    const uid = await createConfigMap(plane, { name })
    await fault()
    expect(plane.url).toBe(url)
    const answer = await asAdmin(plane, { path: `${configMaps}/${name}` })
    expect(answer).toMatchObject({ status: 200, body: { metadata: { uid } } })
    await createConfigMap(plane, { name: `${name}-afterwards` })
  }

  test('the control plane writes an audit log where requested', async () => {
    const name = uniqueName()
    await createConfigMap(plane, { name })
    const lines = (await readFile(plane.auditLog as string, 'utf8')).trimEnd().split('\n')
    const entries = lines.map((line) => JSON.parse(line) as { objectRef?: { name?: string } })
    const mine = entries.filter((entry) => entry.objectRef?.name === name)
    expect(mine).toMatchObject([{ verb: 'create', user: { username: 'admin' }, responseStatus: { code: 201 } }])
  })

  test('the control plane keeps objects and its address when the API server restarts', async () => {
    const { apiServer } = plane.pids
    await expectToKeepObjects(() => plane.restartApiServer())
    expect(plane.pids.apiServer).not.toBe(apiServer)
  })

  test('the control plane keeps objects and its address when the API server is killed and started', async () => {
    await expectToKeepObjects(async () => {
      await plane.killApiServer()
      expect(plane.pids.apiServer).toBeUndefined()
      await expect(asAdmin(plane, { path: '/readyz' })).rejects.toThrow('ECONNREFUSED')
      await plane.startApiServer()
    })
  })

  test('the control plane keeps objects and its address when etcd is killed and started', async () => {
    await expectToKeepObjects(async () => {
      await plane.killEtcd()
      expect(plane.pids.etcd).toBeUndefined()
      await plane.startEtcd()
    })
  })

  test('the control plane keeps objects and its address when both are killed and started', async () => {
    await expectToKeepObjects(async () => {
      await Promise.all([plane.killApiServer(), plane.killEtcd()])
      await Promise.all([plane.startApiServer(), plane.startEtcd()])
    })
  })

  test('the control plane refuses to start running programs', async () => {
    await expect(plane.startApiServer()).rejects.toThrow('Cannot start kube-apiserver: it is running')
    await expect(plane.startEtcd()).rejects.toThrow('Cannot start etcd: it is running')
  })

  test('the control plane leaves no process and no file when it is stopped, and can be stopped twice', async () => {
    const { pids, folder } = plane
    expect(runningOf(pids)).toEqual(['etcd', 'apiServer', 'controllerManager', 'watchdog'])
    await plane.stop()
    await plane.stop()
    expect(runningOf(pids)).toEqual([])
    expect(existsSync(folder)).toBe(false)
  })
})

test('startControlPlane reports the output of a program that does not start, and leaves no files', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kopf-test-'))
  vi.stubEnv('TMPDIR', folder)
  try {
    const failure = startControlPlane({ apiServerArgs: ['--no-such-flag'] })
    await expect(failure).rejects.toThrow(/^Cannot start kube-apiserver: it ended with status 1\n/)
    await expect(failure).rejects.toThrow('unknown flag: --no-such-flag')
    expect(await readdir(folder)).toEqual([])
  } finally {
    vi.unstubAllEnvs()
    await rm(folder, { recursive: true })
  }
})

describe('the end of the parent process', () => {
  const script = `
    import { startControlPlane } from '${controlPlaneModule}'
    const { pids, folder } = await startControlPlane()
    console.log(JSON.stringify({ pids, folder }))
  `

  /** Resolves when the control plane of that process is ready. */
  async function startParent(): Promise<{ kill(signal: NodeJS.Signals): void; pids: Pids; folder: string }> {
    const args = ['--import', 'tsx', '--conditions=source', '--input-type=module', '--eval', script]
    const parent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    for await (const line of createInterface(parent.stdout)) {
      const { pids, folder } = JSON.parse(line) as { pids: Pids; folder: string }
      return { kill: (signal) => parent.kill(signal), pids, folder }
    }
    throw new Error('The parent ended before its control plane was ready')
  }

  test.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)(
    'the control plane leaves no process and no file after %s to its parent',
    async (signal) => {
      const { pids, folder, kill } = await startParent()
      expect(runningOf(pids)).toHaveLength(4)
      expect(await readdir(folder)).not.toEqual([])
      kill(signal)
      // etcd may take long to stop on a slow disk.
      await expect.poll(() => runningOf(pids), { timeout: 40_000 }).toEqual([])
      expect(existsSync(folder)).toBe(false)
      expect(existsSync(`${folder}.abandoned`)).toBe(false)
    },
    90_000,
  )
})
