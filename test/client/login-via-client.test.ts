/** Login by the configuration of the official client library. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { LoginError, loginViaClient } from 'kopf'
import { startServer } from 'kopf/server'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createHttpsTransport } from '../../src/client/http/transport.ts'
import { configMaps, defer, failureOf, sessionOn } from './client-targets.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kopf-via-client-'))
  vi.stubEnv('HOME', folder)
  vi.stubEnv('KUBECONFIG', undefined)
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

function kubeconfig(
  content: string | { readonly cluster?: object; readonly user?: object; readonly context?: object },
): void {
  const path = join(folder, 'config')
  const config =
    typeof content === 'string'
      ? content
      : JSON.stringify({
          'current-context': 'c',
          clusters: [{ name: 'k', cluster: { server: 'https://10.0.0.1', ...content.cluster } }],
          users: [{ name: 'u', user: content.user ?? {} }],
          contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', ...content.context } }],
        })
  writeFileSync(path, config)
  vi.stubEnv('KUBECONFIG', path)
}

test('loginViaClient returns credentials that the cluster accepts', async () => {
  const server = await startServer()
  defer(() => server.stop())
  kubeconfig(server.kubeconfig)
  const info = await loginViaClient()
  expect(info).toMatchObject({ server: server.url, priority: 10 })
  const transport = createHttpsTransport(info!)
  defer(() => transport.close())
  expect(await sessionOn(transport).request({ method: 'GET', path: configMaps })).toMatchObject({
    kind: 'ConfigMapList',
  })
})

test.each<[string, Parameters<typeof kubeconfig>[0], object]>([
  ['a token', { user: { token: 'abc' } }, { token: 'abc', scheme: 'Bearer' }],
  ['a password', { user: { username: 'me', password: 'a:b' } }, { username: 'me', password: 'a:b' }],
  [
    'a client certificate',
    {
      user: {
        'client-certificate-data': Buffer.from('cert').toString('base64'),
        'client-key-data': Buffer.from('key').toString('base64'),
      },
    },
    { certificateData: 'cert', privateKeyData: 'key' },
  ],
  ['a CA', { cluster: { 'certificate-authority-data': Buffer.from('ca').toString('base64') } }, { caData: 'ca' }],
  ['insecure-skip-tls-verify', { cluster: { 'insecure-skip-tls-verify': true } }, { insecure: true }],
  ['tls-server-name', { cluster: { 'tls-server-name': 'x' } }, { tlsServerName: 'x' }],
  ['a proxy', { cluster: { 'proxy-url': 'http://proxy:3128' } }, { proxyUrl: 'http://proxy:3128' }],
  ['a namespace', { context: { namespace: 'ns' } }, { defaultNamespace: 'ns' }],
])('loginViaClient reads %s from the kubeconfig', async (_, content, expected) => {
  kubeconfig(content)
  expect((await loginViaClient())?.reveal()).toMatchObject({ server: 'https://10.0.0.1', ...expected })
})

test('loginViaClient returns undefined without any configuration', async () => {
  expect(await loginViaClient()).toBeUndefined()
})

test('loginViaClient reports a broken kubeconfig without its content', async () => {
  kubeconfig('users:\n- user:\n  token: "hush\n  : [')
  const error = await failureOf(loginViaClient())
  expect(error).toBeInstanceOf(LoginError)
  expect(String(error)).toContain('Cannot log in via @kubernetes/client-node: it says "')
  expect(String(error)).not.toContain('hush')
})

test('loginViaClient reports how to install the missing library', async () => {
  // A copy of the sources in a folder without installed packages.
  for (const part of ['client', 'util', 'errors.ts']) cpSync(join('src', part), join(folder, part), { recursive: true })
  const code = `import { loginViaClient } from './client/auth/client-node.ts'
    await loginViaClient().catch((error) => process.stdout.write(String(error)))`
  writeFileSync(join(folder, 'main.mts'), code)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const args = ['--import', import.meta.resolve('tsx'), join(folder, 'main.mts')]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder })
  expect(stdout).toContain('it is not installed; run "npm install @kubernetes/client-node"')
})
