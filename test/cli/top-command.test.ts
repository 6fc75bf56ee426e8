/** `kopf top` with the address of an operator: at a terminal, for scripts, and its errors. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Folder, KopfCommand } from './run-support.ts'
import { OnTerminal, stopTerminals } from './terminal-support.ts'

let folder: Folder
let operator: KopfCommand

const operatorFile = `import { Operator, TemporaryError, defineResource } from 'kopf'
const kopf = new Operator({ name: 'widgets' })
const Widget = defineResource({ group: 'example.com', version: 'v1', kind: 'Widget' })
kopf.on.create(Widget, { id: 'make' }, ({ name }) => {
  if (name === 'w-2') throw new TemporaryError('The disk \\u001b]0;owned\\u0007 is busy', { delay: '1h' })
})
export default kopf
`

beforeAll(async () => {
  folder = new Folder()
  const names = Array.from({ length: 30 }, (_, number) => `w-${number}`)
  folder.write({
    'operator.ts': operatorFile,
    'objects.yaml': names
      .map((name) => `{apiVersion: example.com/v1, kind: Widget, metadata: {name: ${name}}}`)
      .join('\n---\n'),
  })
  const args = ['run', 'operator.ts', '--embedded', '--apply', 'objects.yaml', '-A', '--dashboard', 'localhost:0']
  operator = await new KopfCommand(folder, args).until(/failed temporarily/)
})

afterAll(async () => {
  await stopTerminals()
  operator.send('SIGTERM')
  await operator.exit
  folder.remove()
})

/** The code of the address works once, so that each test needs an operator of its own or the token of the kubeconfig. */
const address = () => /Serving the dashboard at (http:\S+?)(#\S+)?\n/.exec(operator.stderr)!
const kubeconfig = () => /export KUBECONFIG=(\S+)/.exec(operator.stdout + operator.stderr)![1]!

function top(...args: string[]): KopfCommand {
  return new KopfCommand(folder, ['top', '--url', address()[1]!, '--kubeconfig', kubeconfig(), ...args])
}

describe('kopf top', { timeout: 60_000 }, () => {
  test('kopf top logs in with the code of an address once', async () => {
    const url = `${address()[1]}${address()[2]}`
    const first = new KopfCommand(folder, ['top', '--url', url, '--output', 'json'])
    expect(await first.exit, first.stderr).toBe(0)
    const { overview, objects, handlers, requests, problems } = JSON.parse(first.stdout)
    expect(overview.operator).toMatchObject({ name: 'widgets', phase: 'running' })
    expect(objects).toMatchObject({ total: 1, rows: [{ name: 'w-2', state: 'retrying', errors: 1 }] })
    expect(handlers.handlers).toMatchObject([{ id: 'make', type: 'create', calls: 30 }])
    expect([requests, problems].map((view) => typeof view)).toEqual(['object', 'object'])
    const second = new KopfCommand(folder, ['top', '--url', url, '--once'])
    expect(await second.exit).toBe(1)
    expect(second.stderr).toMatch(/^kopf: Cannot log in: the code/m)
  })

  test('kopf top prints the state once without a terminal, without control characters of messages', async () => {
    const one = top('--all', '--filter', 'w-2', '--sort', 'name')
    expect(await one.exit, one.stderr).toBe(0)
    expect(one.stdout).toMatch(/^Objects: 11 {2}by name, filter "w-2"$/m)
    expect(one.stdout).toMatch(/^retrying +default\/w-2 .*The disk \\u001b\]0;owned\\u0007 is busy$/m)
    expect(one.stdout).not.toContain('\u001b')
  })

  test('kopf top at a terminal shows the state, reacts to keys, and leaves the terminal as it was', async () => {
    const args = ['top', '--url', address()[1]!, '--kubeconfig', kubeconfig()]
    const one = await new OnTerminal(folder, args, { columns: 60, variables: { NO_COLOR: '1' } }).until(
      /Failing objects: 1/,
    )
    one.type('a')
    await one.until(/Objects: 1–\d+ of 30/)
    one.type('/w-17\r')
    await one.until(/▸ Objects: 1 {2}by state, filter "w-17"/)
    one.type('\u001b')
    await one.until(/Objects: 1 {2}by state, filter "w-17"[\s\S]*Objects: 1–\d+ of 30/)
    one.type('?')
    await one.until(/Keys of kopf top/)
    one.type('xq')
    expect(await one.exit).toBe(0)
    expect(one.output.startsWith('\u001b[?1049h\u001b[?25l\u001b[?7l')).toBe(true)
    expect(one.output.endsWith('\u001b[?7h\u001b[?25h\u001b[?1049l')).toBe(true)
    expect(one.output).not.toContain('\u001b]0;')
  })

  test('kopf top prints the state once on a terminal that cannot redraw', async () => {
    const args = ['top', '--url', address()[1]!, '--kubeconfig', kubeconfig()]
    const one = new OnTerminal(folder, args, { variables: { TERM: 'dumb', NO_COLOR: '1' } })
    expect(await one.exit).toBe(0)
    expect(one.output).toContain('Failing objects: 1')
    expect(one.output).not.toContain('\u001b')
  })

  test.each<[string, string[], number, RegExp]>([
    [
      'an address without an operator',
      ['--url', 'http://127.0.0.1:1/#code=x'],
      1,
      /^kopf: Cannot reach the operator: connect ECONNREFUSED 127\.0\.0\.1:1; check the address, and that the operator runs with --dashboard$/m,
    ],
    [
      'no address',
      ['--url', 'somewhere'],
      1,
      /^kopf: Cannot reach the operator at "somewhere": expected an address such as http:/m,
    ],
    [
      'a token over plain HTTP',
      ['--url', 'http://operator.example.com', '--token', 'abc'],
      1,
      /credentials are not sent to http:\/\/operator\.example\.com/,
    ],
    ['an address and a name', ['widgets', '--url', 'http://127.0.0.1:1'], 2, /a name cannot be used with '--url'/],
    ['two tokens', ['--token', 'a', '--token-file', 'b'], 2, /'--token' and '--token-file' cannot be used together/],
    ['another sort key', ['--sort', 'nmae'], 2, /Expected one of state, changed, errors, name\. Did you mean name\?/],
    ['no port', ['--pod-port', '99999'], 2, /Expected a port, such as 8443, https:8443 or http:8080/],
    [
      'a CA without an address',
      ['--certificate-authority', 'ca.crt'],
      2,
      /'--certificate-authority' cannot be used without '--url'/,
    ],
  ])('kopf top refuses %s', async (_, args, code, message) => {
    const one = new KopfCommand(folder, ['top', ...args])
    expect(await one.exit).toBe(code)
    expect(one.stderr).toMatch(message)
  })
})
