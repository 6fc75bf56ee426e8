/** Exec plugins of kubeconfigs: their input, their output, and their failures. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { inspect } from 'node:util'
import { type ConnectionInfo, KopfError, loginWithKubeconfig } from 'kopf'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { failureOf } from './client-targets.ts'

const server = 'https://10.0.0.1:6443'
const v1 = 'client.authentication.k8s.io/v1'
const v1beta1 = 'client.authentication.k8s.io/v1beta1'
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kopf-exec-'))
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

/** Writes an executable program with this code into the folder. */
function program(name: string, code: string): string {
  const path = join(folder, name)
  writeFileSync(path, `#!${process.execPath}\n${code}\n`)
  chmodSync(path, 0o755)
  return path
}

const answer = (status: object, apiVersion = v1) =>
  `process.stdout.write(JSON.stringify(${JSON.stringify({ kind: 'ExecCredential', apiVersion, status })}))`

interface Parts {
  readonly exec?: object
  readonly user?: object
  readonly cluster?: object
}

function login({ exec, user, cluster }: Parts): Promise<ConnectionInfo> {
  const path = join(folder, 'config')
  const config = {
    'current-context': 'c',
    clusters: [{ name: 'k', cluster: { server, ...cluster } }],
    users: [{ name: 'u', user: { exec: { apiVersion: v1, interactiveMode: 'Never', ...exec }, ...user } }],
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
  }
  writeFileSync(path, JSON.stringify(config))
  return Promise.resolve(loginWithKubeconfig({ path }) as Promise<ConnectionInfo>)
}

describe('exec plugin output', () => {
  test.each([v1, v1beta1])('an exec plugin in %s returns a token and its expiration', async (apiVersion) => {
    const status = { token: 'abc', expirationTimestamp: '2030-01-02T03:04:05Z' }
    const info = await login({ exec: { apiVersion, command: program('p', answer(status, apiVersion)) } })
    expect(info.reveal()).toMatchObject({ server, token: 'abc', expiration: new Date('2030-01-02T03:04:05Z') })
  })

  test('an exec plugin may return a client certificate and its key', async () => {
    const command = program('p', answer({ clientCertificateData: 'cert', clientKeyData: 'key' }))
    const info = await login({ exec: { command } })
    expect(info.reveal()).toMatchObject({ certificateData: 'cert', privateKeyData: 'key' })
    expect(info.expiration).toBeUndefined()
  })

  test('an exec plugin is called for each login', async () => {
    const count = join(folder, 'count')
    const code = `const fs = require('node:fs')
      const next = (fs.existsSync(${JSON.stringify(count)}) ? Number(fs.readFileSync(${JSON.stringify(count)})) : 0) + 1
      fs.writeFileSync(${JSON.stringify(count)}, String(next))
      process.stdout.write(JSON.stringify({ kind: 'ExecCredential', apiVersion: '${v1}', status: { token: 't' + next } }))`
    const exec = { command: program('p.cjs', code) }
    expect((await login({ exec })).reveal().token).toBe('t1')
    expect((await login({ exec })).reveal().token).toBe('t2')
  })
})

describe('exec plugin calls', () => {
  const echo = (value: string) => `const value = ${value}
    const status = { token: Buffer.from(JSON.stringify(value ?? null)).toString('base64url') }
    process.stdout.write(JSON.stringify({ kind: 'ExecCredential', apiVersion: '${v1}', status }))`
  const told = (info: ConnectionInfo) => JSON.parse(Buffer.from(info.reveal().token!, 'base64url').toString())

  test('an exec plugin gets its arguments and variables in addition to the environment of the process', async () => {
    vi.stubEnv('OUTER', 'outer')
    const command = program('p.cjs', echo('[process.argv.slice(2), process.env.INNER, process.env.OUTER]'))
    const env = [{ name: 'INNER', value: 'inner' }]
    expect(told(await login({ exec: { command, args: ['a', '-b'], env } }))).toEqual([['a', '-b'], 'inner', 'outer'])
  })

  test('an exec plugin gets interactive false, and the cluster only if it asks for it', async () => {
    const command = program('p.cjs', echo('JSON.parse(process.env.KUBERNETES_EXEC_INFO)'))
    const spec = { interactive: false }
    expect(told(await login({ exec: { command } }))).toEqual({ kind: 'ExecCredential', apiVersion: v1, spec })
    writeFileSync(join(folder, 'ca.crt'), 'authority')
    const cluster = {
      'certificate-authority': 'ca.crt',
      'tls-server-name': 'name',
      'proxy-url': 'http://proxy',
      extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'x' } }],
    }
    const asked = told(await login({ exec: { command, provideClusterInfo: true }, cluster }))
    expect(asked.spec).toEqual({
      interactive: false,
      cluster: {
        server,
        'certificate-authority-data': Buffer.from('authority').toString('base64'),
        'tls-server-name': 'name',
        'proxy-url': 'http://proxy',
        config: { audience: 'x' },
      },
    })
  })

  test('an exec plugin with a relative path is found from the kubeconfig, and a bare name in PATH', async () => {
    mkdirSync(join(folder, 'bin'))
    program('bin/plugin', answer({ token: 'found' }))
    expect((await login({ exec: { command: './bin/plugin' } })).reveal().token).toBe('found')
    vi.stubEnv('PATH', `${join(folder, 'bin')}${delimiter}${process.env['PATH']}`)
    expect((await login({ exec: { command: 'plugin' } })).reveal().token).toBe('found')
  })

  test('an exec plugin that reads its standard input gets the end of input', async () => {
    const code = `process.stdin.on('end', () => { ${answer({ token: 'none' })} }).resume()`
    expect((await login({ exec: { command: program('p.cjs', code) } })).reveal().token).toBe('none')
  })

  test.each<[string, string, object]>([
    [
      'is not there; install it, or put its folder into PATH',
      '',
      { command: 'kopf-no-such-program', args: ['--secret=hush'] },
    ],
    [
      'is not there; get it from example.com',
      '',
      { command: 'kopf-no-such-program', installHint: 'get it from example.com' },
    ],
    [
      'ended with status 3: no route to the cloud',
      'process.stderr.write("no route\\nto the cloud\\n"); process.exit(3)',
      {},
    ],
    ['ended with status 1', 'process.exitCode = 1', {}],
    ['ended with a signal', 'process.kill(process.pid, "SIGKILL")', {}],
    ['has printed something else than an ExecCredential', 'console.log("hush-hush")', {}],
    [
      'has printed something else than an ExecCredential',
      'console.log(JSON.stringify({ kind: "Pod", status: { token: "hush-hush" } }))',
      {},
    ],
    [`has not answered as ${v1}`, answer({ token: 'hush-hush' }, v1beta1), {}],
    ['has printed neither a token nor a client certificate', answer({}), {}],
    ['"expirationTimestamp" that is not a time', answer({ token: 'hush-hush', expirationTimestamp: 'hush' }), {}],
    [
      'does not work: Cannot use the connection info: the client certificate has no private key',
      answer({ clientCertificateData: 'hush' }),
      {},
    ],
    ['"token" of the status of the ExecCredential is not text', answer({ token: 12345 }), {}],
  ])('a failed exec plugin is reported: %s', async (message, code, exec) => {
    const error = await failureOf(login({ exec: { command: program('p.cjs', code), ...exec } }))
    expect(error).toBeInstanceOf(KopfError)
    expect(error).toMatchObject({ code: 'KOPF_KUBECONFIG' })
    expect(String(error)).toContain(message)
    expect(String(error)).toContain(join(folder, 'config'))
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('hush')
  })

  test('an exec plugin that is not executable is reported', async () => {
    const path = join(folder, 'plain')
    writeFileSync(path, 'x', { mode: 0o600 })
    expect(String(await failureOf(login({ exec: { command: path } })))).toContain('may not be executed')
  })

  test('the error output of an exec plugin is shown without printed, given and probable secrets', async () => {
    const long = 'k'.repeat(64)
    const code = `process.stdout.write('{"token":"hush-printed"}')
      process.stderr.write('cannot renew hush-printed of hush-given with token=hush-named; Bearer hush-too ${long} bye')
      process.exit(1)`
    const env = [{ name: 'SECRET', value: 'hush-given' }]
    const error = await failureOf(login({ exec: { command: program('p.cjs', code), env } }))
    expect(String(error)).toContain('cannot renew (hidden) of (hidden) with token=(hidden)')
    expect(String(error)).toContain('bye')
    expect(String(error)).not.toContain('hush')
    expect(String(error)).not.toContain(long)
  })
})
