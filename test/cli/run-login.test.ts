/** `kopf run --kubeconfig`: the file is read anew when its credentials stop working, and so is all that it names. */
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { type RunningServer, startServer } from 'kopf/server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Gatekeeper } from '../activities/gatekeeper.ts'
import { Folder, RunCommand, stopCommands } from './run-support.ts'

let folder: Folder
let server: RunningServer
let gate: Gatekeeper

beforeEach(async () => {
  folder = new Folder()
  server = await startServer()
  gate = await new Gatekeeper({ url: server.url, caPem: server.ca!, admin: { token: server.token! } }).listen()
  folder.write({
    'operator.ts': `import { Operator } from 'kopf'
      const kopf = new Operator()
      kopf.on.event('configmaps', ({ name, logger }) => logger.info('Seen ' + name))
      export default kopf`,
  })
})

afterEach(async () => {
  await stopCommands()
  await gate.close()
  await server.stop()
  folder.remove()
})

function writeKubeconfig(user: object): void {
  const config = {
    'current-context': 'c',
    clusters: [{ name: 'k', cluster: { server: gate.url } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
  }
  folder.write({ 'access/config': JSON.stringify(config) })
}

const run = () => new RunCommand(folder, ['operator.ts', '-A', '--verbose', '--kubeconfig', 'access/config'])

async function create(name: string): Promise<void> {
  const headers = { authorization: `Bearer ${server.token}` }
  const body = JSON.stringify({ metadata: { name } })
  await server.api.send({ method: 'POST', path: '/api/v1/namespaces/default/configmaps', headers, body })
}

describe('credentials of a kubeconfig', { timeout: 30_000 }, () => {
  test('from a program are asked for again when they are refused', async () => {
    folder.write({
      'access/token': 'one',
      'access/plugin': `#!${process.execPath}
        const token = require('node:fs').readFileSync(${JSON.stringify(join(folder.path, 'access/token'))}, 'utf8')
        const kind = 'ExecCredential', apiVersion = 'client.authentication.k8s.io/v1beta1'
        process.stdout.write(JSON.stringify({ kind, apiVersion, status: { token } }))`,
    })
    chmodSync(join(folder.path, 'access/plugin'), 0o755)
    writeKubeconfig({ exec: { apiVersion: 'client.authentication.k8s.io/v1beta1', command: './plugin' } })
    gate.good.add('one')
    const one = await run().until(/Watching configmaps/)
    folder.write({ 'access/token': 'two' })
    gate.good.clear()
    gate.good.add('two')
    gate.endStreams()
    await create('after')
    await one.until(/Seen after/)
    expect(one.stderr).toContain('Re-authentication has finished.')
  })

  test('from a token file are read again', async () => {
    folder.write({ 'access/token': 'one' })
    writeKubeconfig({ tokenFile: 'token' })
    gate.good.add('one')
    const one = await run().until(/Watching configmaps/)
    folder.write({ 'access/token': 'two' })
    gate.good.clear()
    gate.good.add('two')
    gate.endStreams()
    await create('after')
    await one.until(/Seen after/)
    expect(one.stderr).not.toContain('Re-authentication')
  })

  test('that are edited in the file itself are found there', async () => {
    writeKubeconfig({ token: 'one' })
    gate.good.add('one')
    const one = await run().until(/Watching configmaps/)
    writeKubeconfig({ token: 'two' })
    gate.good.clear()
    gate.good.add('two')
    gate.endStreams()
    await create('after')
    await one.until(/Seen after/)
  })

  test('that are refused from the beginning are a failure that says what to do', async () => {
    writeKubeconfig({ token: 'dead' })
    const one = run()
    expect(await one.exit).toBe(1)
    expect(one.stderr).toContain('kopf: Ran out of valid credentials: the API server refuses those of')
    expect(one.stderr).toContain('The credentials are not accepted: log in again, or choose others with --kubeconfig')
    expect(one.stderr).not.toContain('dead')
    expect(gate.refused.length).toBeLessThanOrEqual(3)
  })
})
