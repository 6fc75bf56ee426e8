/** `kopf release`, run as a command: it removes our finalizer, keeps others, and asks before it changes many objects. */
import { type RunningServer, startServer } from 'kopf/server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Body } from '../support/answers.ts'
import { ask } from '../support/in-process.ts'
import { Folder, KopfCommand, stopCommands } from './run-support.ts'

const ours = 'kopf.zalando.org/KopfFinalizerMarker'
const collection = '/api/v1/namespaces/default/configmaps'

let server: RunningServer
let folder: Folder

beforeEach(async () => {
  server = await startServer()
  folder = new Folder()
  folder.write({ 'dev.kubeconfig': server.kubeconfig })
})
afterEach(async () => {
  await stopCommands()
  await server.stop()
  folder.remove()
})

async function create(name: string, finalizers: readonly string[], namespace: string = 'default'): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  const { status } = await ask(server.api, 'POST', path, { body: { metadata: { name, finalizers } } })
  expect(status).toBe(201)
}

async function finalizersOf(name: string): Promise<readonly string[] | undefined> {
  const { status, body } = await ask(server.api, 'GET', `${collection}/${name}`)
  return status === 404 ? undefined : ((body as unknown as Body).metadata.finalizers ?? [])
}

interface Ended {
  readonly exit: number | string
  readonly stdout: string
  readonly stderr: string
}

async function release(...args: string[]): Promise<Ended> {
  const one = new KopfCommand(folder, ['release', ...args, '--kubeconfig', 'dev.kubeconfig'])
  return { exit: await one.exit, stdout: one.stdout, stderr: one.stderr }
}

describe('release of one object', { timeout: 60_000 }, () => {
  test('kopf release removes only our finalizer, and a deleted object goes with its last finalizer', async () => {
    await create('held', ['a/first', ours, 'b/last'])
    await create('deleted', [ours])
    await ask(server.api, 'DELETE', `${collection}/deleted`)
    expect(await release('cm', 'held')).toMatchObject({ exit: 0, stdout: 'Released 1 object.\n' })
    expect(await finalizersOf('held')).toEqual(['a/first', 'b/last'])
    expect((await release('cm', 'deleted')).stderr).toContain('  default/deleted (being deleted)\n')
    expect(await finalizersOf('deleted')).toBeUndefined()
  })

  test('kopf release accepts resource/name, and suggests the names of objects and namespaces', async () => {
    await create('held', [ours])
    expect((await release('configmap/hold')).stderr).toBe(
      'kopf: Cannot release configmaps "hold": there is no object of that name in the namespace "default"; did you mean "held"?\n',
    )
    expect(await release('configmaps', '--all', '--yes', '-n', 'defaults')).toEqual({
      exit: 1,
      stdout: '',
      stderr: 'kopf: Cannot release configmaps: the namespace "defaults" does not exist; did you mean "default"?\n',
    })
    expect(await release('configmap/held')).toMatchObject({ exit: 0, stdout: 'Released 1 object.\n' })
  })

  test('kopf release takes the finalizer from the file of the operator or from an option', async () => {
    folder.write({
      'operator.ts': `import { Operator } from 'kopf'
const kopf = new Operator({ settings: { persistence: { finalizer: 'mine/own' } } })
kopf.on.delete('configmaps', () => {})
export default kopf
`,
    })
    await create('held', [ours, 'mine/own', 'mine/other'])
    expect((await release('cm', 'held', '--file', 'operator.ts')).exit).toBe(0)
    expect(await finalizersOf('held')).toEqual([ours, 'mine/other'])
    expect((await release('cm', 'held', '--finalizer', 'mine/other')).exit).toBe(0)
    expect(await finalizersOf('held')).toEqual([ours])
  })

  test('kopf release retries if the object is changed at the same time', async () => {
    await create('held', [ours])
    // The first read returns the state before the change, so that the patch conflicts.
    server.api.faults.add({ on: { verb: 'get', name: 'held' }, effect: { type: 'stale' }, times: 1 })
    await ask(server.api, 'PATCH', `${collection}/held`, { body: { metadata: { labels: { changed: 'yes' } } } })
    expect(await release('cm', 'held')).toMatchObject({ exit: 0, stdout: 'Released 1 object.\n' })
    expect(await finalizersOf('held')).toEqual([])
    const statuses = server.api.requests.last({ verb: 'patch', name: 'held' }).map(({ status }) => status)
    expect(statuses.slice(1)).toEqual([422, 200])
  })

  test('kopf release reports an object that does not have the finalizer', async () => {
    await create('free', [])
    expect(await release('cm', 'free')).toEqual({
      exit: 0,
      stdout: `configmaps "free" does not have the finalizer "${ours}": there is nothing to release.\n`,
      stderr: '',
    })
  })

  test('kopf release exits with 1 if the object does not exist', async () => {
    expect(await release('cm', 'none')).toMatchObject({
      exit: 1,
      stderr:
        'kopf: Cannot release configmaps "none": there is no object of that name in the namespace "default"; there are no others\n',
    })
  })
})

describe('release of all objects', { timeout: 60_000 }, () => {
  test('kopf release --all releases the objects with the finalizer, in one namespace or in all', async () => {
    await ask(server.api, 'POST', '/api/v1/namespaces', { body: { metadata: { name: 'other' } } })
    await create('one', [ours])
    await create('two', ['x/y', ours])
    await create('free', ['x/y'])
    await create('far', [ours], 'other')
    const here = await release('cm', '--all', '--yes')
    expect(here).toMatchObject({ exit: 0, stdout: 'Released 2 objects.\n' })
    expect(here.stderr).toContain('will be removed from 2 objects:\n  default/one\n  default/two\n')
    expect(await Promise.all(['one', 'two', 'free'].map(finalizersOf))).toEqual([[], ['x/y'], ['x/y']])
    expect(await release('cm', '--all', '-A', '-y')).toMatchObject({ exit: 0, stdout: 'Released 1 object.\n' })
  })

  test('kopf release --all reads all pages of a long list', async () => {
    for (let number = 0; number < 510; number += 1) await create(`many-${number}`, [ours])
    expect(await release('cm', '--all', '--yes')).toMatchObject({ exit: 0, stdout: 'Released 510 objects.\n' })
    expect(server.api.requests.last().some(({ path }) => path.includes('continue='))).toBe(true)
  })

  test('kopf release --all changes nothing with --dry-run or without --yes', async () => {
    await create('one', [ours])
    expect(await release('cm', '--all', '--dry-run')).toMatchObject({
      exit: 0,
      stdout: 'Nothing was changed: this was a dry run.\n',
    })
    expect(await release('cm', '--all')).toMatchObject({ exit: 2, stdout: '' })
    expect(await finalizersOf('one')).toEqual([ours])
  })

  test('kopf release --all reports objects that cannot be released, and releases the others', async () => {
    await create('one', [ours])
    await create('two', [ours])
    server.api.faults.add({ on: { verb: 'patch', name: 'two' }, effect: { type: 'error', status: 403 } })
    const { exit, stdout, stderr } = await release('cm', '--all', '--yes')
    expect([exit, stdout]).toEqual([1, 'Released 1 object.\n'])
    expect(stderr).toContain(
      'Cannot release configmaps "two": this user lacks the permission; a role needs the rule ' +
        '{"apiGroups":[""],"resources":["configmaps"],"verbs":["list","patch"]}\n',
    )
    expect(stderr).toContain('kopf: Cannot release 1 object: the reasons are above\n')
  })
})
