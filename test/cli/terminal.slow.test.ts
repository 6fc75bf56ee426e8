/** The output of `kopf run` on a terminal, and its absence elsewhere. */
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Folder, RunCommand, stopCommands } from './run-support.ts'
import { interrupt, OnTerminal, stopTerminals, type TerminalOptions } from './terminal-support.ts'

let folder: Folder
beforeEach(() => {
  folder = new Folder()
  folder.write({
    'operator.ts': `
      import { Operator, defineResource, TemporaryError } from 'kopf'
      const Widget = defineResource({ group: 'example.com', version: 'v1', kind: 'Widget' })
      const kopf = new Operator({ settings: { queueing: { workerLimit: 5 } } })
      kopf.on.create(Widget, async ({ name, spec, logger }) => {
        await new Promise((resolve) => setTimeout(resolve, spec.takesMs))
        console.log('Said by', name)
        if (name === 'w-7') throw new TemporaryError('Not yet', { delay: '1h' })
        logger.warn('A warning that is made longer and longer until it does not fit into the columns of a terminal: ' + name)
      })
      kopf.on.update(Widget, () => {})
      kopf.index('namespaces', ({ name }) => [[name, 1]])
      export default kopf`,
    'one.json': objects(1, 0),
    'many.json': objects(40, 170),
    'quick.json': objects(40, 0),
  })
})
afterEach(async () => {
  await stopTerminals()
  await stopCommands()
  folder.remove()
})

function objects(count: number, takesMs: number): string {
  const items = Array.from({ length: count }, (_, number) => ({
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: `w-${number}`, namespace: 'default' },
    spec: { takesMs },
  }))
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
}

function onTerminal(file: string, options: TerminalOptions & { readonly args?: readonly string[] } = {}): OnTerminal {
  return new OnTerminal(folder, ['run', 'operator.ts', '--embedded', '--apply', file, ...(options.args ?? [])], options)
}

const fullLine =
  /^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] kopf\.(objects|operator) {8,9}\[(INFO {4}|WARNING |ERROR {3})\] (\[default\/w-\d+\] )?\S.*$/

const shortLine = /^\d\d:\d\d:\d\d (INFO |WARN |ERROR) (default\/w-\d+ {2})?\S.*$/

/** The lines after the introduction of the command: the address of the server and how to use it. */
function afterGreeting(lines: readonly string[]): readonly string[] {
  const end = lines.indexOf('Stop it with Ctrl-C.')
  expect(end).toBeGreaterThan(0)
  expect(lines[end + 1]).toBe('')
  return lines.slice(end + 2)
}

const title = [
  expect.stringMatching(/^kopf \d+\.\d+\.\d+\S*: operator\.ts on the embedded server, all namespaces$/),
  expect.stringMatching(/^ {2}widgets\.v1\.example\.com +\d+ objects? +create, update$/),
  expect.stringMatching(/^ {2}namespaces\.v1 +\d+ objects? +index$/),
]

describe('kopf run on a terminal', { timeout: 60_000 }, () => {
  test('kopf run on a terminal shows the watched resources, a progress bar, a summary, and unbroken log lines', async () => {
    const one = await onTerminal('many.json').until(/Caught up/)
    await one.stop()
    expect(one.output).toMatch(/▕.*█.*▏ \d+ of 40 handled/)
    const { screen } = one
    const lines = screen.lines
    expect(lines).toContain('  40 widgets.example.com')
    const [summary, ...others] = afterGreeting(lines).filter((line) => line.startsWith('Caught up'))
    expect(summary).toMatch(/^Caught up with 40 objects in [\d.]+ s: 39 created, 1 to be retried\.$/)
    expect(others).toEqual([])
    const said = lines.filter((line) => line.startsWith('Said by'))
    expect(new Set(said)).toEqual(new Set(Array.from({ length: 40 }, (_, number) => `Said by w-${number}`)))
    expect(said).toHaveLength(40)
    const logged = lines.filter((line) => shortLine.test(line))
    expect(logged.filter((line) => line.includes('A warning that is made longer'))).toHaveLength(39)
    expect(afterGreeting(lines).slice(0, 3)).toEqual(title)
    const known = new Set<string>([...afterGreeting(lines).slice(0, 3), summary!, ...said, ...logged])
    expect(afterGreeting(lines).filter((line) => !known.has(line))).toEqual([])
    expect(screen.isPlain).toBe(true)
  })

  test('kopf run can be interrupted at the progress bar, and restores the terminal', async () => {
    // So narrow that the bar fills the line: the echoed key comes after it.
    const one = await onTerminal('many.json', { columns: 40, isEchoed: true }).until(/▕.*▏ [1-9]\d* of 40 handled/)
    await one.stop()
    const { screen } = one
    expect(screen.lines.at(-1)).toMatch(/^Stopped after \d+ of 40 objects: the others are handled at the next start\.$/)
    expect(screen.lines.filter((line) => line.includes('▕'))).toEqual([])
    expect(screen.isPlain).toBe(true)
    expect(screen.column).toBe(0)
  })

  test('kopf run on a terminal says at the first Ctrl-C what it waits for, and ends at once at the second', async () => {
    folder.write({ 'slow.json': objects(1, 600_000) })
    const one = await onTerminal('slow.json').until(/1 object .*create, update/)
    one.type(interrupt)
    await one.until(/Stopping: 1 handler at work, at most 15 s; Ctrl-C again to end at once\. Waiting for Handler/)
    // A second signal within half a second counts as a repetition of the first one.
    const timer = setInterval(() => one.type(interrupt), 200)
    expect(await one.exit).toBe(1)
    clearInterval(timer)
    expect(one.screen.lines.at(-1)).toMatch(
      /^kopf: SIGINT was received a second time: the process ends at once; cut off: create ".*" of default\/w-0$/,
    )
  })

  test('kopf run on a terminal uses colours unless NO_COLOR is set, and no bar for quick starts', async () => {
    const [coloured, plain] = await Promise.all([
      onTerminal('one.json').until(/Caught up/),
      onTerminal('one.json', { variables: { NO_COLOR: '1' } }).until(/Caught up/),
    ])
    await Promise.all([coloured.stop(), plain.stop()])
    expect(coloured.output).toContain('\u001b[33mWARN  \u001b[39m\u001b[1mdefault/w-0\u001b[22m\u001b[33m  A warning')
    expect(plain.output).not.toContain('\u001b')
    expect(coloured.output).not.toContain('▕')
    const lines = afterGreeting(plain.screen.lines)
    expect(lines.slice(0, 3)).toEqual(title)
    expect(lines.filter((line) => line.startsWith('Caught'))).toEqual([
      expect.stringMatching(/^Caught up with 1 object in \d\.\d s: 1 created\.$/),
    ])
    const words = ({ screen }: OnTerminal) => screen.lines.map((line) => line.replaceAll(/\d+|\bkopf-\S+/g, ''))
    expect(words(coloured).sort()).toEqual(words(plain).sort())
  })

  test('kopf run on a terminal shows only log lines with --quiet, JSON logs, CI, or a dumb terminal', async () => {
    const plain = [
      onTerminal('one.json', { args: ['--quiet'], variables: { NO_COLOR: '1' } }),
      onTerminal('one.json', { variables: { TERM: 'dumb' } }),
      onTerminal('one.json', { variables: { CI: 'true', NO_COLOR: '1' } }),
    ]
    const full = onTerminal('one.json', { args: ['--log-format', 'full', '--quiet'], variables: { NO_COLOR: '1' } })
    const json = onTerminal('one.json', { args: ['--log-format', 'json'] })
    const formats = new Map([
      [full, fullLine],
      [json, /^\{"message": "/],
    ])
    for (const one of [...plain, full, json]) {
      await one.until(/A warning/)
      await one.stop()
      expect(one.output).not.toContain('\u001b')
      const rest = afterGreeting(one.screen.lines).filter((line) => line !== 'Said by w-0')
      expect(rest.length).toBeGreaterThan(0)
      expect(rest.filter((line) => !(formats.get(one) ?? shortLine).test(line))).toEqual([])
    }
  })
})

describe('kopf run without a terminal', { timeout: 60_000 }, () => {
  const args = ['operator.ts', '--embedded', '--apply', 'quick.json']

  /** Compares the logs exactly, since programs parse them. */
  function checkLogs(text: string): void {
    const lines = text.trimEnd().split('\n')
    expect(lines.filter((line) => !fullLine.test(line))).toEqual([])
    expect(lines.length).toBeGreaterThan(60)
  }

  test('kopf run without a terminal writes only log lines, even with FORCE_COLOR', async () => {
    const one = await new RunCommand(folder, args, { FORCE_COLOR: '1' }).until(/Said by w-9\n/)
    await one.until(/\[default\/w-9\] Creation is processed/)
    one.send('SIGTERM')
    expect(await one.exit).toBe(0)
    checkLogs(one.stderr)
    const names = Array.from({ length: 40 }, (_, number) => `  widgets.example.com/w-${number}\n`).join('')
    expect(one.stdout.replaceAll(/^Said by .*\n/gm, '')).toMatch(
      new RegExp(
        '^The embedded Kubernetes API server is ready at https://127\\.0\\.0\\.1:\\d+\n\n' +
          'Created at the start:\n {2}customresourcedefinitions\\.apiextensions\\.k8s\\.io/widgets\\.example\\.com\n' +
          `${names}\nTo use it from another terminal:\n {2}export KUBECONFIG=\\S+\n` +
          ' {2}kubectl get widgets\\.example\\.com w-39\n\nStop it with Ctrl-C\\.\n\n$',
      ),
    )
  })

  test('kopf run with logs in a file writes no terminal output into the file', async () => {
    const one = await new OnTerminal(folder, ['run', ...args], { redirection: '2>log.txt' }).until(/Said by w-9\r\n/)
    await one.stop()
    checkLogs(readFileSync(`${folder.path}/log.txt`, 'utf8'))
    expect(one.output).not.toContain('\u001b')
    expect(one.output).not.toContain('Caught up')
  })
})
