/** `kopf server`, run as a command: its output, its files, and its end. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
import { Api } from '../support/api.ts'
import { crd } from '../support/crds.ts'
import { expectStatus } from '../support/expectations.ts'
import { configMap } from '../support/objects.ts'

const command = [inject('command')]
const patienceMs = 20_000

let folder: string
const running = new Set<Command>()

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kopf-cli-test-'))
})
afterEach(async () => {
  // SIGTERM instead of SIGKILL, so that they remove their files.
  for (const one of running) one.send('SIGTERM')
  await Promise.all([...running].map(({ exit }) => exit))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

class Command {
  stdout = ''
  stderr = ''
  readonly exit: Promise<number | string>
  readonly #child: ChildProcess
  #wake: () => void = () => {}

  constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, [...command, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
      this.#wake()
    })
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderr += text))
    running.add(this)
    this.exit = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        running.delete(this)
        this.#wake()
        resolve(code ?? signal!)
      })
    })
  }

  /** Resolves when the server has printed that it is ready. */
  async ready(): Promise<this> {
    while (!this.stdout.includes('Stop it with Ctrl-C.')) {
      if (!running.has(this)) throw new Error(`It ended before it was ready: ${this.stderr}`)
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    return this
  }

  get url(): string {
    return /ready at (\S+)/.exec(this.stdout)![1]!
  }

  get kubeconfig(): string {
    return /export KUBECONFIG=(\S+)/.exec(this.stdout)![1]!
  }

  get pid(): number {
    return this.#child.pid!
  }

  send(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }
}

const start = (...args: string[]) => new Command(['server', ...args]).ready()

async function run(...args: string[]): Promise<{ exit: number | string; stdout: string; stderr: string }> {
  const one = new Command(args)
  const exit = await one.exit
  return { exit, stdout: one.stdout, stderr: one.stderr }
}

function file(name: string, content: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

interface Kubeconfig {
  clusters: [{ cluster: { server: string; 'certificate-authority-data'?: string } }]
  users: [{ user: { token?: string } }]
}

function apiFrom(path: string): Api {
  const { clusters, users } = JSON.parse(readFileSync(path, 'utf8')) as Kubeconfig
  const { server: url, 'certificate-authority-data': data } = clusters[0].cluster
  const ca = data === undefined ? {} : { caPem: Buffer.from(data, 'base64').toString() }
  return new Api({ url, credentials: users[0].user, ...ca })
}

describe('kopf server', { timeout: patienceMs }, () => {
  test('kopf server prints its address and usage, and leaves nothing behind on SIGINT', async () => {
    const server = await start()
    expect(server.stdout).toBe(
      [
        `The embedded Kubernetes API server is ready at ${server.url}`,
        '',
        'To use it from another terminal:',
        `  export KUBECONFIG=${server.kubeconfig}`,
        '  kubectl get namespaces',
        '',
        'Stop it with Ctrl-C.',
        '',
      ].join('\n'),
    )
    expect(statSync(server.kubeconfig).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(server.kubeconfig)).mode & 0o777).toBe(0o700)
    const api = apiFrom(server.kubeconfig)
    expectStatus(await api.get('/api/v1/namespaces/default'), 200)
    // An open watch and an idle connection do not delay the end.
    const watch = await api.watch('/api/v1/namespaces')
    const began = performance.now()
    server.send('SIGINT')
    expect(await server.exit).toBe(0)
    expect(performance.now() - began).toBeLessThan(5000)
    expect(existsSync(dirname(server.kubeconfig))).toBe(false)
    expect(server.stdout.endsWith('SIGINT: stopped. Its objects are gone.\n')).toBe(true)
    expect(server.stderr).toBe('')
    watch.close()
    api.close()
  })

  test('kopf server stops on SIGTERM', async () => {
    const server = await start()
    server.send('SIGTERM')
    expect(await server.exit).toBe(0)
    expect(existsSync(server.kubeconfig)).toBe(false)
    expect(server.stderr).toBe('')
  })

  test('kopf server --authorization rbac enforces roles', async () => {
    const server = await start('--authorization', 'rbac')
    const api = apiFrom(server.kubeconfig)
    expectStatus(await api.get('/apis/rbac.authorization.k8s.io/v1/clusterroles/view'), 200)
    const headers = { 'impersonate-user': 'joe' }
    expect((await api.get('/api/v1/namespaces', {}, { headers })).status).toBe(403)
    api.close()
    server.send('SIGTERM')
    expect(await server.exit).toBe(0)
  })

  test('kopf server writes its kubeconfig to the given path, over an empty file or its own', async () => {
    const path = join(folder, 'own.kubeconfig')
    for (const content of [undefined, '', 'its own']) {
      if (content === '') writeFileSync(path, '', { mode: 0o644 })
      const server = await start('--kubeconfig', path)
      expect(server.kubeconfig).toBe(path)
      expect(statSync(path).mode & 0o777).toBe(0o600)
      const api = apiFrom(path)
      expectStatus(await api.get('/version'), 200)
      api.close()
      server.send('SIGTERM')
      expect(await server.exit).toBe(0)
      expect(existsSync(path)).toBe(true)
    }
  })

  test('kopf server --filename creates the objects of the files in their order and prints their names', async () => {
    const first = file('crd.json', crd({ group: 'example.com', kind: 'Widget' }))
    const yaml =
      'apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: one\nspec:\n  enabled: yes\n---\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n'
    const server = await start('-f', first, '--filename', file('objects.yaml', yaml))
    expect(server.stdout).toContain(
      [
        'Created at the start:',
        '  customresourcedefinitions.apiextensions.k8s.io/widgets.example.com',
        '  widgets.example.com/one',
        '  configmaps/two',
        '',
        'To use it',
      ].join('\n'),
    )
    expect(server.stdout).toContain('  kubectl get configmaps two\n')
    const api = apiFrom(server.kubeconfig)
    const { body } = await api.get('/apis/example.com/v1/namespaces/default/widgets/one')
    expect(body.spec).toEqual({ enabled: true })
    api.close()
  })

  test('kopf server --data-dir keeps the objects and the credentials of the previous run', async () => {
    const data = join(folder, 'data')
    const objects = file('kept.json', configMap('kept'))
    const first = await start('--data-dir', data, '-f', objects)
    expect(first.stdout).toContain('  configmaps/kept\n')
    const { users } = JSON.parse(readFileSync(first.kubeconfig, 'utf8')) as Kubeconfig
    first.send('SIGTERM')
    expect(await first.exit).toBe(0)
    expect(first.stdout.endsWith(`SIGTERM: stopped. Its objects are in ${data}.\n`)).toBe(true)
    const second = await start('--data-dir', data, '-f', objects)
    expect(second.stdout).not.toContain('Created at the start')
    expect((JSON.parse(readFileSync(second.kubeconfig, 'utf8')) as Kubeconfig).users).toEqual(users)
    const api = apiFrom(second.kubeconfig)
    expectStatus(await api.get('/api/v1/namespaces/default/configmaps/kept'), 200)
    api.close()
    expect(second.stderr).toBe('')
  })

  test('kopf server --open needs no credentials', async () => {
    const server = await start('--open')
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect((await fetch(`${server.url}/api/v1/namespaces`)).status).toBe(200)
    expect(readFileSync(server.kubeconfig, 'utf8')).not.toContain('token')
  })
})

describe('kopf server failures', { timeout: patienceMs }, () => {
  async function fail(...args: string[]): Promise<string> {
    const { exit, stdout, stderr } = await run('server', ...args)
    expect({ exit, stdout, lines: stderr.split('\n').length }).toEqual({ exit: 1, stdout: '', lines: 2 })
    expect(stderr).not.toMatch(/\bat .*:\d+:\d+|node:/)
    return stderr
  }

  test('kopf server exits with 1 if the port is taken', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as { port: number }
    expect(await fail('--port', String(port))).toBe(
      `kopf: Cannot listen on 127.0.0.1:${port}: the port is taken by another program; choose another one, or 0 for any that is free\n`,
    )
    taken.close()
  })

  test('kopf server exits with 1 if the kubeconfig is not its own, and does not change it', async () => {
    const path = file('foreign.kubeconfig', 'apiVersion: v1\nkind: Config\n')
    expect(await fail('--kubeconfig', path)).toBe(
      `kopf: Cannot write the kubeconfig to "${path}": a file is there that was not written by kopf server; name another one\n`,
    )
    expect(readFileSync(path, 'utf8')).toBe('apiVersion: v1\nkind: Config\n')
  })

  test('kopf server exits with 1 if another server uses the data directory', async () => {
    const data = join(folder, 'shared')
    await start('--data-dir', data)
    const pid = [...running][0]!.pid
    expect(await fail('--data-dir', data)).toBe(
      `kopf: Cannot use the data directory "${data}": the server of process ${pid} uses it; stop that one, or name another directory\n`,
    )
  })

  test('kopf server exits with 1 if the data directory cannot be created', async () => {
    expect(await fail('--data-dir', '/proc/data')).toBe(
      'kopf: Cannot use the data directory "/proc/data": no directory can be created there; name another one\n',
    )
  })

  test('kopf server exits with 1 if the folder of the kubeconfig does not exist', async () => {
    const missing = join(folder, 'missing', 'kubeconfig')
    expect(await fail('--kubeconfig', missing)).toBe(
      `kopf: Cannot write the kubeconfig to "${missing}": there is no such file or folder\n`,
    )
  })

  test('kopf server exits with 1 if the kubeconfig is a folder', async () => {
    mkdirSync(join(folder, 'folder'))
    expect(await fail('--kubeconfig', join(folder, 'folder'))).toContain(': it is a folder\n')
  })

  test.each<[string, string | object | undefined, string]>([
    ['missing.yaml', undefined, 'Cannot read "FILE": there is no such file or folder'],
    ['broken.yaml', 'a: [', 'Cannot read "FILE": Flow sequence in block collection'],
    ['deep.yaml', '['.repeat(5000), 'Cannot read "FILE": exceeded max depth of 200'],
    ['text.yaml', 'hello', 'FILE: Cannot load an object: it has no apiVersion and kind: "hello"'],
    [
      'unknown.json',
      { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'one' } },
      'FILE: Cannot load Widget "one": the server has no Widget in example.com/v1; does its CRD come before it?',
    ],
    ['typo.json', configMap('a', { dtaa: {} }), 'FILE: Cannot load ConfigMap "a": ConfigMap in version "v1"'],
  ])('kopf server exits with 1 if the objects cannot be loaded: %s', async (name, content, message) => {
    const path = content === undefined ? join(folder, name) : file(name, content)
    expect(await fail('-f', path)).toContain(`kopf: ${message.replace('FILE', path)}`)
  })
})

describe('wrong usage', { timeout: patienceMs }, () => {
  test.each<[string[], string]>([
    [
      ['server', '--port', 'abc'],
      "error: option '--port <number>' argument 'abc' is invalid. Expected a number from 0 to 65535.",
    ],
    [
      ['server', '--port', '65536'],
      "error: option '--port <number>' argument '65536' is invalid. Expected a number from 0 to 65535.",
    ],
    [['server', '--nonsense'], "error: unknown option '--nonsense'"],
    [['server', 'nonsense'], "error: too many arguments for 'server'. Expected 0 arguments but got 1."],
    [['server', '--kubeconfig'], "error: option '--kubeconfig <file>' argument missing"],
    [['nonsense'], "error: unknown command 'nonsense'"],
  ])('kopf %j exits with 2 and a hint', async (args, message) => {
    expect(await run(...args)).toEqual({ exit: 2, stdout: '', stderr: `${message}\n(see --help)\n` })
  })

  test('kopf without arguments prints its usage and exits with 2', async () => {
    const { exit, stdout, stderr } = await run()
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' })
    expect(stderr).toMatch(/^Usage: kopf .*server/s)
  })
})

describe('help and version', { timeout: patienceMs }, () => {
  test('kopf --version prints the version to stdout and exits with 0', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    const stdout = expect.stringMatching(
      new RegExp(`^${version}\nNode [0-9.]+\nKubernetes [0-9.]+ \\(embedded server\\)\n$`),
    )
    expect(await run('--version')).toEqual({ exit: 0, stdout, stderr: '' })
  })

  test.each([[['--help']], [['-h']], [['server', '--help']]])(
    'kopf %j prints its usage and exits with 0',
    async (args) => {
      const { exit, stdout, stderr } = await run(...args)
      expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
      expect(stdout).toMatch(/^Usage: kopf/)
      expect(stdout).not.toMatch(/default: (\[\]|false|0)/)
    },
  )
})
