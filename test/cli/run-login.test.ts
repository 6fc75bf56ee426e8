/** `kopf run --kubeconfig`: the kubeconfig and its files are read again when the credentials are refused. */
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

describe('kubeconfig credentials', { timeout: 30_000 }, () => {
  test('kopf run calls the exec plugin of the kubeconfig again when its token is refused', async () => {
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

  test('kopf run reads the token file of the kubeconfig again', async () => {
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

  test('kopf run reads the kubeconfig again when its token is refused', async () => {
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

  test('kopf run exits with 1 and a hint if the credentials are refused at the start', async () => {
    writeKubeconfig({ token: 'dead' })
    const one = run()
    expect(await one.exit).toBe(1)
    expect(one.stderr).toContain('kopf: Ran out of valid credentials: the API server refuses those of')
    expect(one.stderr).toContain('The credentials are not accepted: log in again, or choose others with --kubeconfig')
    expect(one.stderr).not.toContain('dead')
    expect(gate.refused.length).toBeLessThanOrEqual(3)
  })
})
