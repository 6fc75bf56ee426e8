/** The logs of `kopf run` and `kopf dev`: options of the command line, `configureLogging` in the operator's file, and defaults. */
import { cpSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { KopfCommand, RunCommand, useFolder } from './run-support.ts'

const objects = resolve('examples/01-minimal/object.yaml')

const folder = useFolder()

/** The last log line is of a handler; lines of the framework about the creation come before and after it. */
function write(configure: string): void {
  folder.write({
    'operator.ts': `import { configureLogging, Operator } from 'kopf'
${configure}
const kopf = new Operator()
kopf.on.create('kopfexamples', { id: 'first' }, ({ logger }) => logger.debug('In detail'))
kopf.on.create('kopfexamples', { id: 'second' }, ({ logger }) => logger.info('Made'))
kopf.timer('kopfexamples', { id: 'last', idle: 0.2, interval: 60 }, ({ logger }) => logger.warn('Settled'))
export default kopf
`,
  })
}

async function logOf(args: readonly string[], variables: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const command = new RunCommand(folder, ['operator.ts', '--embedded', '--apply', objects, ...args], variables)
  await command.until(/Settled/)
  command.send('SIGTERM')
  expect(await command.exit).toBe(0)
  return command.stderr.trimEnd().split('\n')
}

const ofObject = (lines: readonly string[]): string[] => lines.filter((line) => line.includes('kopf-example-1'))

describe('framework log lines', { timeout: 30_000 }, () => {
  test('the framework log lines are logged by default, under the same logger as those of handlers', async () => {
    write('')
    const lines = ofObject(await logOf([]))
    expect(lines.map((line) => line.slice(26))).toEqual([
      "kopf.objects         [INFO    ] [default/kopf-example-1] Handler 'first' succeeded.",
      'kopf.objects         [INFO    ] [default/kopf-example-1] Made',
      "kopf.objects         [INFO    ] [default/kopf-example-1] Handler 'second' succeeded.",
      'kopf.objects         [INFO    ] [default/kopf-example-1] Creation is processed: 2 succeeded; 0 failed.',
      'kopf.objects         [WARNING ] [default/kopf-example-1] Settled',
      "kopf.objects         [INFO    ] [default/kopf-example-1] Timer 'last' succeeded.",
    ])
  })

  test.each([
    ['--log-framework-level', ['--log-framework-level', 'warn'], {}],
    ['KOPF_RUN_LOG_FRAMEWORK_LEVEL', [], { KOPF_RUN_LOG_FRAMEWORK_LEVEL: 'warn' }],
  ])('the framework log lines below the level of %s are left out', async (_, args, variables) => {
    write('')
    const lines = await logOf(['--verbose', '--log-format', 'plain', '--no-log-prefix', ...args], variables)
    expect(lines).toEqual(['In detail', 'Made', 'Settled'])
  })

  test('the framework log lines below --log-framework-level are left out in JSON logs', async () => {
    write('')
    const lines = await logOf(['--log-format', 'json', '--log-framework-level', 'error'])
    expect(lines.map((line) => JSON.parse(line).message)).toEqual(['Made', 'Settled'])
  })

  test('the framework log level is taken from configureLogging unless the option is given', async () => {
    write("configureLogging({ frameworkLevel: 'warn', format: 'plain', prefix: false })")
    expect(await logOf([])).toEqual(['Made', 'Settled'])
    const lines = await logOf(['--log-framework-level', 'info'])
    expect(lines).toContain("Handler 'second' succeeded.")
  })

  test('an unknown framework log level is refused before the operator runs', async () => {
    write('')
    const command = new RunCommand(folder, ['operator.ts', '--log-framework-level', 'loud'])
    expect(await command.exit).not.toBe(0)
    expect(command.stderr).toContain(
      "option '--log-framework-level <level>' argument 'loud' is invalid. Expected one of debug, info, warn, error.",
    )
  })
})

describe('configureLogging', { timeout: 30_000 }, () => {
  test('configureLogging in the operator file applies to kopf run without logging options', async () => {
    write("configureLogging({ format: 'json', refkey: 'k8s', quiet: true })")
    const lines = await logOf([])
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: 'Settled', severity: 'warn', k8s: { kind: 'KopfExample', name: 'kopf-example-1' } },
    ])
  })

  test('the logging options of kopf run override configureLogging one by one', async () => {
    write("configureLogging({ format: 'json', verbose: true, prefix: false, frameworkLevel: 'error' })")
    expect(await logOf(['--log-format', 'plain'])).toEqual(['In detail', 'Made', 'Settled'])
    expect(await logOf(['--log-format', 'plain', '--log-prefix', '--quiet'])).toEqual([
      '[default/kopf-example-1] Settled',
    ])
  })

  test('the logging environment variables of kopf run override configureLogging', async () => {
    write("configureLogging({ format: 'json', verbose: true, frameworkLevel: 'error' })")
    const variables = { KOPF_RUN_LOG_FORMAT: 'plain', KOPF_RUN_QUIET: 'true', KOPF_RUN_LOG_PREFIX: 'false' }
    expect(await logOf([], variables)).toEqual(['Settled'])
  })

  test('the write function of configureLogging gets the log lines', async () => {
    write(`import { appendFileSync } from 'node:fs'
configureLogging({ format: 'plain', prefix: false, frameworkLevel: 'error', write: (line) => {
  appendFileSync('own.log', line)
  if (line.includes('Settled')) console.log('Settled')
} })`)
    expect(await logOf([])).toEqual([''])
    expect(readFileSync(`${folder.path}/own.log`, 'utf8')).toBe('Made\nSettled\n')
  })

  test('configureLogging of another installed copy of the package applies to kopf run', async () => {
    write("configureLogging({ format: 'plain', prefix: false, frameworkLevel: 'error' })")
    for (const part of ['package.json', 'dist']) {
      cpSync(join(inject('package'), part), join(folder.path, 'node_modules', 'kopf', part), { recursive: true })
    }
    expect(await logOf(['--verbose'])).toEqual(['In detail', 'Made', 'Settled'])
  })

  test('configureLogging in the operator file applies to kopf dev after each save', async () => {
    write("configureLogging({ format: 'plain', prefix: false, frameworkLevel: 'error' })")
    const command = new KopfCommand(folder, ['dev', 'operator.ts', '--apply', objects])
    await command.until(/Settled/)
    expect(command.stderr).toBe('Made\nSettled\n')
    write("configureLogging({ format: 'json', frameworkLevel: 'error', quiet: true })")
    await command.until(/"message": "Settled"/)
    command.send('SIGTERM')
    expect(await command.exit).toBe(0)
  })

  test('the logging options of kopf dev override configureLogging', async () => {
    write("configureLogging({ format: 'json', frameworkLevel: 'error' })")
    const args = ['--log-format', 'plain', '--log-framework-level', 'info']
    const command = new KopfCommand(folder, ['dev', 'operator.ts', '--apply', objects, ...args])
    await command.until(/^\[default\/kopf-example-1\] Settled$/m)
    await command.until(/^\[default\/kopf-example-1\] Handler 'second' succeeded\.$/m)
    command.send('SIGTERM')
    expect(await command.exit).toBe(0)
  })
})
