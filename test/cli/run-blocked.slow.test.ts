/** `kopf run` with code that blocks the event loop: the code is named in the log, and signals still work. */
import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { RunCommand, useFolder } from './run-support.ts'

const folder = useFolder()

/** Writes the operator, with the body as the third line of its file, and runs it. */
function run(body: string, ...args: string[]): RunCommand {
  folder.write({
    'operator.ts': [
      "import { Operator } from 'kopf'; import { execSync } from 'node:child_process'",
      'const kopf = new Operator({ settings: { process: { blockedExitTimeout: 1 } } })',
      body,
      'export default kopf',
    ].join('\n'),
    'objects.yaml': '{apiVersion: v1, kind: ConfigMap, metadata: {name: first, namespace: default}}',
  })
  const common = ['operator.ts', '--embedded', '--apply', 'objects.yaml', '-n', 'default']
  return new RunCommand(folder, [...common, ...args])
}

const handler = (statements: string) =>
  `kopf.on.create('configmaps', { id: 'make' }, async () => { ${statements}; console.log('begun'); for (;;); })`

function expectNothingCompiledLeft(): void {
  expect(readdirSync(folder.temporary).filter((name) => name.startsWith('kopf-run-'))).toEqual([])
}

describe('blocking handlers', { timeout: 30_000 }, () => {
  test.each(['SIGINT', 'SIGTERM'] as const)(
    'a blocking handler is named, and %s ends kopf run with 1',
    async (signal) => {
      const one = await run(handler('')).until(/begun/)
      one.send(signal)
      expect(await one.exit).toBe(1)
      expect(one.stderr).toMatch(
        /\[ERROR {3}\] \[default\/first\] Handler 'make' has blocked the event loop for [\d.]+ seconds at .*operator\.ts:3:\d+\)?, and the process was told to stop: the process ends now\.\n$/,
      )
      expectNothingCompiledLeft()
    },
  )

  test('a handler that blocks the event loop after an await is named while it blocks, in JSON logs', async () => {
    const one = run(handler('await new Promise((resolve) => setTimeout(resolve, 10))'), '--log-format', 'json')
    await one.until(/Handler 'make' blocks the event loop at .*operator\.ts:3.*"name":"first"/)
    one.send('SIGTERM')
    expect(await one.exit).toBe(1)
    for (const line of one.stderr.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('message')
  })

  test('a second signal ends a process that is blocked by a handler', async () => {
    const one = run(handler('kopf.settings.process.blockedExitTimeout = null'))
    await one.until(/Handler 'make' blocks the event loop/)
    one.send('SIGTERM')
    // Longer than the time in which two signals count as one; the blocked command cannot report it.
    await new Promise((resolve) => setTimeout(resolve, 700))
    one.send('SIGTERM')
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(/Handler 'make' has blocked .*, and a second signal has come/)
  })

  test('a cleanup handler that blocks the event loop is named', async () => {
    const begin = "kopf.on.event('configmaps', () => {})"
    const one = await run(`${begin}; kopf.on.cleanup({ id: 'clean' }, () => { for (;;); })`, '-v').until(/Watching/)
    one.send('SIGTERM')
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(/Activity 'clean' has blocked the event loop/)
  })
})

describe('blocking code outside of handlers', { timeout: 30_000 }, () => {
  test('a file that blocks the event loop at its top level can be stopped', async () => {
    const one = await run("console.log('begun'); for (;;);").until(/begun/)
    one.send('SIGINT')
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(/Code outside of handlers has blocked the event loop for .* at .*operator\.ts:3/)
    expectNothingCompiledLeft()
  })

  test('a handler in a call that cannot be interrupted is named, and the process is killed', async () => {
    const wait =
      "kopf.on.create('configmaps', { id: 'make' }, () => { console.log('begun'); execSync('exec sleep 60') })"
    const one = await run(wait).until(
      /Handler 'make' blocks the event loop\. It is in a call that cannot be interrupted/,
    )
    one.send('SIGTERM')
    expect(await one.exit).toBe('SIGKILL')
    expect(one.stderr).toMatch(
      /Handler 'make' has blocked the event loop, and the process was told to stop: the process is/,
    )
  })

  test('a handler in a call that cannot be interrupted is named in the log format of configureLogging', async () => {
    const wait =
      "kopf.on.create('configmaps', { id: 'make' }, () => { console.log('begun'); execSync('exec sleep 60') })"
    const one = await run(`;(await import('kopf')).configureLogging({ format: 'json' })\n${wait}`).until(/blocks the/)
    expect(JSON.parse(one.stderr.trimEnd().split('\n').at(-1)!)).toMatchObject({
      message: expect.stringContaining("Handler 'make' blocks the event loop. It is in a call that cannot"),
      severity: 'warn',
    })
    one.send('SIGTERM')
    expect(await one.exit).toBe('SIGKILL')
  })
})

test('a handler that blocks for a moment is logged as a warning, and the stop is graceful', {
  timeout: 30_000,
}, async () => {
  const body = [
    "kopf.on.create('configmaps', { id: 'make' }, () => { console.log('begun'); const end = Date.now() + 1500; while (Date.now() < end); })",
    "kopf.on.cleanup(({ logger }) => logger.info('cleaned up'))",
    'kopf.settings.process.blockedExitTimeout = 20',
  ]
  const one = await run(body.join('; ')).until(/begun/)
  one.send('SIGTERM')
  expect(await one.exit).toBe(0)
  expect(one.stderr).toMatch(/cleaned up/)
  expect(one.stderr).toMatch(/Handler 'make' has blocked the event loop for 1\.\d seconds: nothing else can run/)
})
