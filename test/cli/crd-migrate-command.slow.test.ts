/** `kopf crd migrate`, run as a command: it rewrites objects without a change, and removes old versions from the stored ones only after all of them. */
import { type RunningServer, startServer } from 'kopf/server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Body } from '../support/answers.ts'
import { crdsPath } from '../support/crds.ts'
import { ask } from '../support/in-process.ts'
import { Folder, KopfCommand, stopCommands } from './run-support.ts'

const crdName = 'things.example.com'
const collection = '/apis/example.com/v2/namespaces/default/things'
const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
const versions = (storage: string) =>
  ['v1', 'v2'].map((name) => ({ name, served: true, storage: name === storage, schema }))
const operator = `import { defineResource, Operator } from 'kopf'
const kopf = new Operator()
kopf.on.create(defineResource({ group: 'example.com', version: 'v2', kind: 'Thing' }), () => {})
export default kopf
`

let server: RunningServer
let folder: Folder

/** Starts a server with objects that are stored in v1, and a CRD whose storage version is v2. */
beforeEach(async () => {
  server = await startServer()
  folder = new Folder()
  folder.write({ 'dev.kubeconfig': server.kubeconfig, 'operator.ts': operator })
  const spec = { group: 'example.com', scope: 'Namespaced', names: { plural: 'things', kind: 'Thing' } }
  const metadata = { name: crdName }
  const crd = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata }
  const body = { ...crd, spec: { ...spec, versions: versions('v1') } }
  expect(await ask(server.api, 'POST', crdsPath, { body })).toMatchObject({ status: 201 })
  for (const name of ['a', 'b', 'c']) await create(name)
  await patchCrd({ spec: { versions: versions('v2') } })
})
afterEach(async () => {
  await stopCommands()
  await server.stop()
  folder.remove()
})

async function create(name: string): Promise<void> {
  const body = { apiVersion: 'example.com/v2', kind: 'Thing', metadata: { name } }
  expect(await ask(server.api, 'POST', collection, { body })).toMatchObject({ status: 201 })
}

async function patchCrd(body: object): Promise<void> {
  expect(await ask(server.api, 'PATCH', `${crdsPath}/${crdName}`, { body })).toMatchObject({ status: 200 })
}

async function storedVersions(): Promise<unknown> {
  const { body } = await ask(server.api, 'GET', `${crdsPath}/${crdName}`)
  return (body as unknown as Body).status['storedVersions']
}

function start(...args: string[]): KopfCommand {
  return new KopfCommand(folder, ['crd', 'migrate', ...args, '--kubeconfig', 'dev.kubeconfig'])
}

async function migrate(...args: string[]): Promise<{ exit: number | string; stdout: string; stderr: string }> {
  const one = start(...args)
  return { exit: await one.exit, stdout: one.stdout, stderr: one.stderr }
}

const writes = () => server.api.requests.last({ verb: 'patch', resource: crdName })

describe('migration of stored objects', { timeout: 60_000 }, () => {
  test('kopf crd migrate rewrites the objects of the resources of an operator, after which an old version can be removed', async () => {
    expect(await migrate('operator.ts')).toEqual({
      exit: 0,
      stdout: `${crdName}: 3 objects rewritten in v2; status.storedVersions: v1, v2 -> v2\n`,
      stderr: '',
    })
    expect(await storedVersions()).toEqual(['v2'])
    await patchCrd({ spec: { versions: versions('v2').slice(1) } })
    const { body } = await ask(server.api, 'GET', `${collection}/a`)
    expect((body as unknown as Body).metadata).toMatchObject({ name: 'a', generation: 1 })
    expect(await migrate('--crd', crdName)).toEqual({
      exit: 0,
      stdout: `${crdName}: all objects are stored in v2: there is nothing to migrate.\n`,
      stderr: '',
    })
  })

  test('kopf crd migrate --dry-run says what would be done, and changes nothing', async () => {
    expect(await migrate('--crd', crdName, '--dry-run')).toEqual({
      exit: 0,
      stdout:
        `${crdName}: 3 objects would be stored in v2, by rewriting them, at most 20 per second; ` +
        'status.storedVersions: v1, v2 -> v2\nNothing was changed: this was a dry run.\n',
      stderr: '',
    })
    expect([await storedVersions(), writes()]).toEqual([['v1', 'v2'], []])
  })

  test('kopf crd migrate counts objects that are stored in the version already, or are deleted meanwhile', async () => {
    await ask(server.api, 'PATCH', `${collection}/a`, { body: { spec: { changed: true } } })
    server.api.faults.add({ on: { verb: 'patch', name: 'b' }, effect: { type: 'error', status: 404 } })
    server.api.faults.add({ on: { verb: 'patch', name: 'c' }, effect: { type: 'error', status: 409 } })
    expect(await migrate('--crd', crdName)).toMatchObject({
      exit: 0,
      stdout:
        `${crdName}: 0 objects rewritten in v2, 1 stored in it before, 2 changed or deleted meanwhile; ` +
        'status.storedVersions: v1, v2 -> v2\n',
    })
  })

  test('kopf crd migrate reads all pages, keeps to the rate, and starts the list again if a page has expired', async () => {
    await patchCrd({ spec: { versions: versions('v1') } })
    for (let number = 0; number < 510; number += 1) await create(`many-${String(number).padStart(3, '0')}`)
    await patchCrd({ spec: { versions: versions('v2') } })
    server.api.faults.add({
      on: { verb: 'list', resource: crdName },
      effect: { type: 'error', status: 410 },
      after: 1,
      times: 1,
    })
    const command = start('--crd', crdName, '--rate', '2000')
    expect(await command.exit).toBe(0)
    expect(command.stdout).toContain(': 513 objects rewritten in v2; ')
    expect(writes()).toHaveLength(513)
  })
})

describe('migration that cannot be completed', { timeout: 60_000 }, () => {
  test('kopf crd migrate keeps the stored versions if an object cannot be rewritten, and completes when it is run again', async () => {
    server.api.faults.add({ on: { verb: 'patch', name: 'b' }, effect: { type: 'error', status: 422 }, times: 1 })
    const { exit, stdout, stderr } = await migrate('--crd', crdName)
    expect([exit, stdout]).toEqual([1, ''])
    expect(stderr).toContain(`Cannot rewrite ${crdName} default/b: `)
    expect(stderr).toContain(
      `kopf: Cannot migrate 1 object of ${crdName}: the reasons are above; status.storedVersions is still v1, v2; `,
    )
    expect(await storedVersions()).toEqual(['v1', 'v2'])
    expect((await migrate('--crd', crdName)).stdout).toContain(': 1 object rewritten in v2, 2 stored in it before; ')
  })

  test('kopf crd migrate keeps the stored versions if the CRD is changed while objects are rewritten', async () => {
    const command = start('--crd', crdName, '--rate', '0.5')
    await expect.poll(() => writes().length, { timeout: 30_000 }).toBe(1)
    await patchCrd({ spec: { names: { shortNames: ['th'] } } })
    expect(await command.exit).toBe(1)
    expect(command.stderr).toContain('the CRD was changed while its objects were rewritten')
    expect(await storedVersions()).toEqual(['v1', 'v2'])
  })

  test('kopf crd migrate can be stopped by a signal, and says how far it came', async () => {
    const command = start('--crd', crdName, '--rate', '0.1')
    await expect.poll(() => writes().length, { timeout: 30_000 }).toBe(1)
    command.send('SIGINT')
    expect(await command.exit).toBe(1)
    expect(command.stderr).toContain(
      `kopf: Stopped the migration of ${crdName} after 1 object; status.storedVersions is still v1, v2; run the command again`,
    )
  })

  test('kopf crd migrate names the rule that the user needs', async () => {
    server.api.faults.add({ on: { verb: 'patch', resource: crdName }, effect: { type: 'error', status: 403 } })
    const { exit, stderr } = await migrate('--crd', crdName)
    expect([exit, stderr]).toEqual([
      1,
      'kopf: Cannot rewrite things.example.com: this user lacks the permission; a role needs the rule ' +
        '{"apiGroups":["example.com"],"resources":["things"],"verbs":["list","patch"]}\n',
    ])
  })

  test.each<[string, string[], number, string]>([
    [
      'nothing is named',
      [],
      2,
      'error: nothing to migrate. Name the file of an operator, or a CRD with --crd.\n(see --help)\n',
    ],
    ['the rate is 0', ['--crd', crdName, '--rate', '0'], 2, 'Expected a number of writes per second'],
    ['the CRD does not exist', ['--crd', 'thigns.example.com'], 1, 'did you mean "things.example.com"?'],
  ])('kopf crd migrate fails with a message if %s', async (_, args, exit, message) => {
    const failed = await migrate(...args)
    expect(failed).toMatchObject({ exit, stdout: '' })
    expect(failed.stderr).toContain(message)
  })
})
