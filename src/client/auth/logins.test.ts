import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ConnectionInfo } from './connection-info.ts'
import * as kubeconfig from './kubeconfig.ts'
import { loginWithServiceAccount } from './service-account.ts'

/** Without an exec plugin the login is synchronous. */
const loginWithKubeconfig = (options?: kubeconfig.KubeconfigLoginOptions) =>
  kubeconfig.loginWithKubeconfig(options) as ConnectionInfo | undefined

const server = 'https://10.0.0.1:6443'
const execV1 = 'client.authentication.k8s.io/v1'
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kopf-logins-'))
  vi.stubEnv('KUBECONFIG', undefined)
  vi.stubEnv('HOME', folder)
  vi.stubEnv('KUBERNETES_SERVICE_HOST', undefined)
  vi.stubEnv('KUBERNETES_SERVICE_PORT', undefined)
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

function write(name: string, content: string | object): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

interface Parts {
  readonly cluster?: object
  readonly user?: object
  readonly context?: object
}

function config({ cluster, user, context }: Parts = {}): object {
  return {
    'current-context': 'c',
    clusters: [{ name: 'k', cluster: { server, ...cluster } }],
    users: [{ name: 'u', user: user ?? {} }],
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', ...context } }],
  }
}

describe('kubeconfig login', () => {
  test('a kubeconfig that does not exist gives no login', () => {
    expect(loginWithKubeconfig()).toBeUndefined()
    vi.stubEnv('KUBECONFIG', join(folder, 'nowhere'))
    expect(loginWithKubeconfig()).toBeUndefined()
  })

  test('the kubeconfig is read from ~/.kube/config by default', () => {
    mkdirSync(join(folder, '.kube'))
    write('.kube/config', config({ user: { token: 'abc' } }))
    expect(loginWithKubeconfig()?.reveal()).toMatchObject({ server, token: 'abc' })
  })

  test('a kubeconfig in YAML is read again at each login', () => {
    const yaml = (token: string) =>
      `current-context: c\nclusters:\n- name: k\n  cluster: {server: "${server}"}\nusers:\n- name: u\n  user:\n    token: ${token}\ncontexts:\n- name: c\n  context: {cluster: k, user: u, namespace: ns}\n`
    const path = write('config', yaml('one'))
    expect(loginWithKubeconfig({ path })?.reveal()).toMatchObject({ token: 'one', defaultNamespace: 'ns' })
    write('config', yaml('two'))
    expect(loginWithKubeconfig({ path })?.reveal()).toMatchObject({ token: 'two' })
  })

  test.each<[string, Parts, object]>([
    ['token', { user: { token: 'abc' } }, { token: 'abc' }],
    ['password', { user: { username: 'me', password: 'abc' } }, { username: 'me', password: 'abc' }],
    [
      'certificate data',
      { user: { 'client-certificate-data': 'a', 'client-key-data': 'b' } },
      { certificateData: 'a', privateKeyData: 'b' },
    ],
    [
      'data rather than files',
      { cluster: { 'certificate-authority': 'a', 'certificate-authority-data': 'b' } },
      { caData: 'b' },
    ],
    [
      'impersonation',
      { user: { as: 'jane', 'as-uid': '1', 'as-groups': ['a', 'b'], 'as-user-extra': { Reason: ['x', 'y'] } } },
      { impersonate: { user: 'jane', uid: '1', groups: ['a', 'b'], extra: { Reason: ['x', 'y'] } } },
    ],
    ['token rather than a program', { user: { token: 'abc', exec: { command: 'false' } } }, { token: 'abc' }],
    ['auth provider', { user: { 'auth-provider': { config: { 'access-token': 'abc' } } } }, { token: 'abc' }],
    ['insecure', { cluster: { 'insecure-skip-tls-verify': true } }, { insecure: true }],
    ['tls-server-name', { cluster: { 'tls-server-name': 'x' } }, { tlsServerName: 'x' }],
    ['namespace', { context: { namespace: 'ns' } }, { defaultNamespace: 'ns' }],
    ['proxy', { cluster: { 'proxy-url': 'http://p' } }, { proxyUrl: 'http://p' }],
  ])('a kubeconfig gives the %s', (_, parts, expected) => {
    expect(loginWithKubeconfig({ path: write('config', config(parts)) })?.reveal()).toMatchObject({
      server,
      ...expected,
    })
  })

  test('relative paths in a kubeconfig start at its folder', () => {
    write('token', 'from-file\n')
    const parts = {
      cluster: { 'certificate-authority': 'ca.crt' },
      user: { tokenFile: 'token', token: 'other', 'client-certificate': '../c.crt', 'client-key': '/abs/k' },
    }
    mkdirSync(join(folder, 'sub'))
    write('sub/token', 'from-file\n')
    const path = write('sub/config', config(parts))
    expect(loginWithKubeconfig({ path })?.reveal()).toMatchObject({
      caPath: join(folder, 'sub', 'ca.crt'),
      certificatePath: join(folder, 'c.crt'),
      privateKeyPath: '/abs/k',
      token: 'from-file',
      tokenPath: join(folder, 'sub', 'token'),
      priority: 10,
    })
  })

  test('several kubeconfig files are merged, and the first file with an entry wins', () => {
    const one = write('one', { users: [{ name: 'u', user: { token: 'first' } }] })
    const two = write('two', config({ user: { token: 'second' } }))
    const three = write('three', {
      'current-context': 'other',
      clusters: [{ name: 'k', cluster: { server: 'https://x' } }],
    })
    vi.stubEnv('KUBECONFIG', [join(folder, 'nowhere'), one, '', two, three].join(delimiter))
    expect(loginWithKubeconfig()?.reveal()).toMatchObject({ server, token: 'first' })
  })

  test('a kubeconfig login can use another context than the current one', () => {
    const other = config()
    const path = write('config', {
      ...other,
      contexts: [
        { name: 'c', context: { cluster: 'k', user: 'u' } },
        { name: 'd', context: { cluster: 'k', namespace: 'd' } },
      ],
    })
    expect(loginWithKubeconfig({ path, context: 'd' })?.defaultNamespace).toBe('d')
    expect(() => loginWithKubeconfig({ path, context: 'e' })).toThrow(`"${path}": there is no context "e" in it`)
  })

  test.each<[string, string | object]>([
    ['it is not valid YAML at line', 'token: "hush\n: [}'],
    ['it is not a mapping', 'hush'],
    ['there is no current-context', { clusters: [] }],
    ['there is no current-context', ''],
    ['there is no context "c"', { 'current-context': 'c' }],
    ['there is no context "c"', { 'current-context': 'c', contexts: 'hush' }],
    ['the context "c" is not a mapping', { 'current-context': 'c', contexts: [{ name: 'c', context: 'hush' }] }],
    ['there is no cluster "z"', config({ context: { cluster: 'z' } })],
    ['there is no user "z"', config({ context: { user: 'z' } })],
    ['"server" of the cluster "k" is missing', config({ cluster: { server: '' } })],
    ['"token" of the user "u" is not text', config({ user: { token: 12345 } })],
    [
      '"insecure-skip-tls-verify" of the cluster "k" is neither',
      config({ cluster: { 'insecure-skip-tls-verify': 'no' } }),
    ],
    ['"apiVersion" of the "exec" of the user "u" is missing', config({ user: { exec: { command: 'hush' } } })],
    [
      '"apiVersion" of the "exec" of the user "u" is "client.authentication.k8s.io/v1alpha1"; expected',
      config({ user: { exec: { command: 'hush', apiVersion: 'client.authentication.k8s.io/v1alpha1' } } }),
    ],
    [
      '"interactiveMode" of the "exec" of the user "u" is "Always", and there is no terminal',
      config({ user: { exec: { command: 'hush', apiVersion: execV1, interactiveMode: 'Always' } } }),
    ],
    [
      '"args" of the "exec" of the user "u" is not a list',
      config({ user: { exec: { command: 'x', apiVersion: execV1, args: 'hush' } } }),
    ],
    [
      '"env" of the "exec" of the user "u" is not a list',
      config({ user: { exec: { command: 'x', apiVersion: execV1, env: { a: 'hush' } } } }),
    ],
    ['"exec" of the user "u" is not a mapping', config({ user: { exec: 'hush' } })],
    ['"as" of the user "u" is missing, although', config({ user: { 'as-groups': ['hush'] } })],
    ['"as-groups" of the user "u" is not a list of texts', config({ user: { as: 'me', 'as-groups': 'hush' } })],
    [
      '"auth-provider" of the user "u" ("gcp") has no token in it',
      config({ user: { 'auth-provider': { name: 'gcp' } } }),
    ],
    [
      'context "c" does not work: Cannot use the connection info: `proxyUrl` is that of a SOCKS proxy',
      config({ cluster: { 'proxy-url': 'socks5://me:hush@p' } }),
    ],
    [
      'context "c" does not work: Cannot use the connection info: both',
      config({ user: { token: 'hush', username: 'x' } }),
    ],
  ])('a kubeconfig is refused: %s', (message, content) => {
    const path = write('config', content)
    expect(() => loginWithKubeconfig({ path })).toThrow(`Cannot log in with the kubeconfig "${path}": ${message}`)
    expect(() => loginWithKubeconfig({ path })).not.toThrow('hush')
  })

  test('a kubeconfig or token file that is named but does not exist is an error', () => {
    const path = join(folder, 'nowhere')
    expect(() => loginWithKubeconfig({ path })).toThrow(`"${path}": there is no such file`)
    const withToken = write('config', config({ user: { tokenFile: 'gone' } }))
    expect(() => loginWithKubeconfig({ path: withToken })).toThrow(`"${join(folder, 'gone')}": there is no such file`)
    expect(() => loginWithKubeconfig({ path: folder })).toThrow('cannot be read (EISDIR)')
  })
})

describe('service account login', () => {
  test('a service account that is not mounted gives no login', () => {
    expect(loginWithServiceAccount({ path: folder })).toBeUndefined()
    expect(loginWithServiceAccount({ path: join(folder, 'nowhere') })).toBeUndefined()
  })

  test('a service account gives its token, its CA and its namespace', () => {
    write('token', 'abc\n')
    expect(loginWithServiceAccount({ path: folder })?.reveal()).toEqual({
      server: 'https://kubernetes.default.svc',
      token: 'abc',
      tokenPath: join(folder, 'token'),
      priority: 20,
    })
    const caPath = write('ca.crt', 'x')
    write('namespace', 'ns')
    vi.stubEnv('KUBERNETES_SERVICE_HOST', 'fd00::1')
    vi.stubEnv('KUBERNETES_SERVICE_PORT', '6443')
    expect(loginWithServiceAccount({ path: folder })?.reveal()).toEqual({
      server: 'https://[fd00::1]:6443',
      token: 'abc',
      tokenPath: join(folder, 'token'),
      caPath,
      defaultNamespace: 'ns',
      priority: 20,
    })
  })

  test('a service account with an empty token is refused', () => {
    write('token', '\n')
    expect(() => loginWithServiceAccount({ path: folder })).toThrow('the file "token" is empty')
  })
})
