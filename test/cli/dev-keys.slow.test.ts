/** The keys of `kopf dev` at a terminal, and the check of types beside it. */
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { OverviewView } from '../../src/dashboard/protocol.ts'
import { Api } from '../support/api.ts'
import { eventually } from '../support/expectations.ts'
import { dev, devFolder, operatorOf, stop, telling, useDevFolder, widget, wordOf, write } from './dev-support.ts'
import { interrupt, OnTerminal, stopTerminals } from './terminal-support.ts'

// Stopped before the folder is removed: hooks run in reverse order.
useDevFolder()
afterEach(stopTerminals)

const plain = { variables: { NO_COLOR: '1' }, columns: 200 }

function devOnTerminal(...args: string[]): OnTerminal {
  return new OnTerminal(devFolder(), ['dev', 'operator.ts', '--apply', 'objects.yaml', ...args], plain)
}

/** The API of the embedded server, with the kubeconfig that the command names. */
function apiOf({ output }: OnTerminal): Api {
  const { clusters, users } = JSON.parse(readFileSync(/export KUBECONFIG=(\S+)/.exec(output)![1]!, 'utf8'))
  const caPem = Buffer.from(clusters[0].cluster['certificate-authority-data'], 'base64').toString()
  return new Api({ url: clusters[0].cluster.server, credentials: users[0].user, caPem })
}

describe('keys of kopf dev', { timeout: 60_000 }, () => {
  test('kopf dev names the address, the namespaces and the keys, shows help, clears the screen, and quits', async () => {
    write()
    const one = await devOnTerminal('-n', 'default').until(/started in/)
    expect(one.output).toMatch(
      /^kopf dev: operator\.ts on the embedded server at https:\/\/127\.0\.0\.1:\d+, namespace default\r$/m,
    )
    expect(one.output).toContain(
      'Press h for help: r restart, o open, t top, l list, e errors, x reset, c clear, q quit.',
    )
    one.type('h')
    await one.until(/^Keys:\r\n {2}r {2}restart the operator(.*\r\n)+ {2}q {2}stop the operator and quit/m)
    one.type('c')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequence that clears the screen
    await one.until(/\u001b\[2J\u001b\[3J\u001b\[H/)
    one.type('q')
    expect(await one.exit).toBe(0)
  })

  test('log lines of kopf dev at a terminal have the time, the level, the object and the message', async () => {
    write()
    const one = await devOnTerminal().until(/create: first one/)
    await one.until(/^\d\d:\d\d:\d\d INFO {2}default\/first {2}Handler 'create' succeeded\.\r$/m)
    await one.stop()
    const full = await devOnTerminal('--log-format', 'full').until(/\[default\/first\] create: first one/)
    await full.stop()
  })

  test('the key r restarts the operator, and ends a process that is blocked', async () => {
    const looping = "kopf.on.resume(Widget, { id: 'bad' }, ({ logger }) => { logger.info('begun ' + word); for (;;); })"
    write()
    const one = await devOnTerminal().until(/Creation is processed/)
    one.type('r')
    await one.until(/resume: first one/)
    await one.until(/restarted in \d+ ms: 3 handlers/)
    devFolder().write({ 'operator.ts': operatorOf(looping) })
    await one.until(/default\/first {2}Handler 'bad' blocks the event loop at .*operator\.ts:5/)
    await one.until(/The operator is blocked\. Press r to end its process\./)
    one.type('l')
    await one.until(/The operator does not answer: its event loop is blocked\./)
    one.type('r')
    await one.until(/The previous operator blocked its event loop: its process is killed\./)
    await one.until(/begun one[\s\S]*begun one/)
    devFolder().write({ 'operator.ts': operatorOf(telling) })
    await one.until(/resume: first one[\s\S]*resume: first one/)
    await one.stop()
  })

  test('the key l lists the objects of the operator with their state, unfinished ones first and not all of many', async () => {
    const handlers = `kopf.on.create(Widget, { id: 'make' }, ({ name }) => {
  if (name === 'w-7') throw new TemporaryError('Not yet', { delay: '1h' })
  void word
})
kopf.on.delete(Widget, { id: 'drop' }, () => { throw new TemporaryError('Still in use', { delay: '2h' }) })`
    const names = Array.from({ length: 25 }, (_, number) => `w-${number}`)
    write({
      'operator.ts': operatorOf(handlers).replace('Operator,', 'Operator, TemporaryError,'),
      'objects.yaml': names.map((name) => widget(1).replace('first', name)).join('\n---\n'),
    })
    const one = await devOnTerminal().until(/(Creation is processed[^\n]*\n[\s\S]*?){24}/)
    await one.until(/default\/w-7 {2}Handler 'make' failed temporarily/)
    const api = apiOf(one)
    await api.delete('/apis/example.com/v1/namespaces/default/widgets/w-8')
    await one.until(/Still in use/)
    one.type('l')
    await one.until(/… and 5 more objects/)
    expect(one.output).toMatch(
      /kopf dev: widgets\.v1\.example\.com: 25 objects\r\n {2}default\/w-7 +'make' is retried in (1 h|59 min \d+ s) after 1 attempt: Not yet\r\n {2}default\/w-8 +being deleted; 'drop' is retried in \S.* after 1 attempt: Still in use\r\n {2}default\/w-0 +handled\r$/m,
    )
    api.close()
    await one.stop()
  })

  test('the key x empties the embedded server after a confirmation, and applies CRDs and files again', async () => {
    const finalized = `${telling}\nkopf.on.delete(Widget, () => {})`
    write({ 'operator.ts': operatorOf(finalized) })
    const one = await devOnTerminal().until(/Creation is processed/)
    const api = apiOf(one)
    await api.post('/api/v1/namespaces', { metadata: { name: 'mine' } })
    await api.post('/api/v1/namespaces/mine/configmaps', { metadata: { name: 'kept', finalizers: ['example.com/x'] } })
    const { body: before } = await api.get('/apis/example.com/v1/namespaces/default/widgets/first')
    one.type('x')
    await one.until(/Delete all objects of the embedded server, and apply CRDs and files again\? \[y\/N\]/)
    one.type('n')
    await one.until(/Nothing was deleted\./)
    one.type('x')
    one.type('y')
    await one.until(/deleted \d+ objects/)
    await one.until(/reset and started in \d+ ms: 4 handlers/)
    await one.until(/create: first one[\s\S]*create: first one/)
    const { body: after } = await api.get('/apis/example.com/v1/namespaces/default/widgets/first')
    expect(after.metadata.uid).not.toBe(before.metadata.uid)
    expect((await api.get('/api/v1/namespaces/mine')).status).toBe(404)
    expect((await api.get('/api/v1/namespaces/default')).status).toBe(200)
    api.close()
    await one.stop()
  })

  test('kopf dev asks before it runs on a cluster that is not on this machine', async () => {
    write({
      kubeconfig: JSON.stringify({
        'current-context': 'far',
        contexts: [{ name: 'far', context: { cluster: 'far' } }],
        clusters: [{ name: 'far', cluster: { server: 'https://cluster.example.com:6443' } }],
      }),
    })
    const one = await devOnTerminal('--cluster', '--kubeconfig', 'kubeconfig', '-A').until(/Continue\? \[y\/N\]/)
    expect(one.output).toContain('operator.ts on https://cluster.example.com:6443 (context far), all namespaces')
    expect(one.output).toMatch(/pauses the operators of its peering there that have a lower priority than 666/)
    one.type('n\r')
    expect(await one.exit).toBe(1)
    expect(one.output).toContain('Stopped: nothing was changed')
  })
})

describe('the dashboard in kopf dev', { timeout: 60_000 }, () => {
  const failing =
    "kopf.on.create(Widget, { id: 'make' }, () => { void word; throw new TemporaryError('The disk is busy', { delay: '1h' }) })"
  const failingOperator = operatorOf(failing).replace('Operator,', 'Operator, TemporaryError,')

  /** A program that writes the address into a file instead of opening it. */
  function browser(): Readonly<Record<string, string>> {
    const path = join(devFolder().path, 'browser')
    writeFileSync(path, `#!/bin/sh\necho "$1" >> '${join(devFolder().path, 'opened')}'\n`)
    chmodSync(path, 0o755)
    return { BROWSER: path, NO_COLOR: '1' }
  }

  function devWithBrowser(...args: string[]): OnTerminal {
    const options = { variables: browser(), columns: 110 }
    return new OnTerminal(devFolder(), ['dev', 'operator.ts', '--apply', 'objects.yaml', ...args], options)
  }

  /** The session of a browser that opens this address. */
  async function logIn(url: string): Promise<{ readonly origin: string; readonly cookie: string }> {
    const [, origin, code] = /^(http:\/\/127\.0\.0\.1:\d+)\/#code=(\S+)$/.exec(url)!
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${origin}/api/login`, { method: 'POST', headers, body: JSON.stringify({ code }) })
    expect(answer.status).toBe(200)
    return { origin: origin!, cookie: answer.headers.getSetCookie()[0]!.split(';')[0]! }
  }

  test('kopf dev prints the address of the dashboard, the key o opens a new one, and the session stays over restarts', async () => {
    write({ 'operator.ts': failingOperator })
    const one = await devWithBrowser().until(/failed temporarily/)
    expect(one.output.match(/#code=/g)).toHaveLength(1)
    const { origin, cookie } = await logIn(/^Dashboard: (\S+)\r$/m.exec(one.output)![1]!)
    one.type('o')
    await one.until(/kopf dev: Opening http:\/\/127\.0\.0\.1:\d+\//)
    const opened = await eventually(async () => readFileSync(join(devFolder().path, 'opened'), 'utf8'))
    expect((await logIn(opened.trim())).origin).toBe(origin)
    const overview = async () => {
      const answer = await fetch(`${origin}/api/views/overview`, { headers: { cookie } })
      return { status: answer.status, body: (await answer.json()) as OverviewView }
    }
    const before = await overview()
    expect(before).toMatchObject({ status: 200, body: { resources: [{ resource: 'widgets.v1.example.com' }] } })
    one.type('r')
    await one.until(/restarted in/)
    const after = await overview()
    expect(after.status).toBe(200)
    expect(after.body.operator.startedAtMs).toBeGreaterThan(before.body.operator.startedAtMs)
    expect((await fetch(`${origin}/api/views/overview`)).status).toBe(401)
    await one.stop()
  })

  test('the key t shows kopf top, whose keys are not those of kopf dev, and output appears afterwards', async () => {
    write({ 'operator.ts': failingOperator })
    const one = await devWithBrowser().until(/failed temporarily/)
    one.type('t')
    await one.until(/retrying {2}default\/first .* The disk is busy/)
    const before = one.output.length
    one.type('ra')
    await one.until(/▸ Objects: 1/)
    devFolder().write({ 'operator.ts': operatorOf(telling) })
    await one.until(/up 0\.\d s/)
    expect(one.output.slice(before)).not.toContain('reloaded in')
    one.type('q')
    await one.until(/operator\.ts changed, reloaded in/)
    // The alternate screen is left, and the cursor is shown.
    const [, afterwards = ''] = one.output.split('\u001b[?25h\u001b[?1049l')
    expect(afterwards).toContain('reloaded in')
    one.type('r')
    await one.until(/restarted in/)
    await one.stop()
  })

  test('Ctrl-C in kopf top comes back to kopf dev', async () => {
    write()
    const one = await devWithBrowser().until(/Creation is processed/)
    one.type('t')
    await one.until(/Resources: 1/)
    one.type(interrupt)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequence that leaves the screen
    await one.until(/\u001b\[\?1049l/)
    one.type('h')
    await one.until(/Keys:\r/)
    await one.stop()
  })

  test('kopf dev serves no dashboard with --no-dashboard, and has no keys for it', async () => {
    write()
    const one = await devWithBrowser('--no-dashboard').until(/Creation is processed/)
    expect(one.output).toContain('Press h for help: r restart, l list, e errors, x reset, c clear, q quit.')
    expect(one.output).not.toContain('#code=')
    one.type('t')
    one.type('l')
    await one.until(/default\/first +handled/)
    expect(one.output).not.toContain('Resources:')
    await one.stop()
  })
})

describe('types in kopf dev', { timeout: 60_000 }, () => {
  /** A project with the TypeScript of this repository. */
  function writeProject(): void {
    write({
      'tsconfig.json': JSON.stringify({
        compilerOptions: {
          module: 'nodenext',
          strict: true,
          noEmit: true,
          types: [],
          allowImportingTsExtensions: true,
        },
        include: ['word.ts', 'shapes.ts'],
      }),
      'shapes.ts': 'export interface Shape { readonly size: number }\n',
    })
    mkdirSync(join(devFolder().path, 'node_modules'))
    symlinkSync(resolve('node_modules/typescript'), join(devFolder().path, 'node_modules/typescript'))
  }

  const wrong = "export const word: string = 'two'\nexport const size: number = word\n"

  test('kopf dev checks the types after each reload, and the key e shows the errors', async () => {
    writeProject()
    const one = await devOnTerminal().until(/Types: no errors \(\d+\.\d s\)/)
    devFolder().write({ 'word.ts': wrong })
    // The reload does not wait for the types.
    await one.until(/word\.ts changed, reloaded in/)
    await one.until(/Types: 1 error \(\d+\.\d s\), press e to see them/)
    expect(one.output).not.toContain('TS2322')
    one.type('e')
    await one.until(/word\.ts:2:14 - error TS2322: Type 'string' is not assignable to type 'number'/)
    devFolder().write({ 'word.ts': wordOf('three') })
    await one.until(/Types: no errors[\s\S]*Types: no errors/)
    // A file with types only is not a part of the program.
    devFolder().write({ 'shapes.ts': 'export interface Shape { readonly size: nmuber }\n' })
    await one.until(/Types: 1 error[\s\S]*Types: 1 error/)
    await one.stop()
  })

  test('kopf dev does not check the types with --no-check, and the key e checks them on request', async () => {
    writeProject()
    devFolder().write({ 'word.ts': wrong })
    const one = await devOnTerminal('--no-check').until(/create: first two/)
    expect(one.output).not.toContain('Types')
    one.type('e')
    await one.until(/Types: 1 error[\s\S]*TS2322/)
    await one.stop()
  })

  test('kopf dev names the missing compiler of a project once, and is silent without a tsconfig.json', async () => {
    write({ 'tsconfig.json': '{}' })
    const one = await dev().until(/Types are not checked: TypeScript is not installed in this project/)
    await one.until(/Creation is processed/)
    devFolder().write({ 'word.ts': wordOf('two') })
    await one.until(/resume: first two/)
    expect(one.stdout.match(/Types/g)).toHaveLength(1)
    await stop(one)
  })
})
