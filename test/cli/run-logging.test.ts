/** What `kopf run` and `kopf dev` log: options of the command line, `configureLogging` of the operator's file, and the defaults. */
import { cpSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { KopfCommand, RunCommand, useFolder } from './run-support.ts'

const objects = resolve('examples/01-minimal/object.yaml')

const folder = useFolder()

/** The last line of the log is the handler's, and those of the framework about the creation are before and after it. */
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

describe('the lines of the framework', { timeout: 30_000 }, () => {
  test('are in the log by default, under the same logger as those of handlers', async () => {
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
  ])('are turned down by %s', async (_, args, variables) => {
    write('')
    const lines = await logOf(['--verbose', '--log-format', 'plain', '--no-log-prefix', ...args], variables)
    expect(lines).toEqual(['In detail', 'Made', 'Settled'])
  })

  test('are turned down in JSON logs, too', async () => {
    write('')
    const lines = await logOf(['--log-format', 'json', '--log-framework-level', 'error'])
    expect(lines.map((line) => JSON.parse(line).message)).toEqual(['Made', 'Settled'])
  })

  test('are turned down by configureLogging in the file, unless the option says otherwise', async () => {
    write("configureLogging({ frameworkLevel: 'warn', format: 'plain', prefix: false })")
    expect(await logOf([])).toEqual(['Made', 'Settled'])
    const lines = await logOf(['--log-framework-level', 'info'])
    expect(lines).toContain("Handler 'second' succeeded.")
  })

  test('an unknown level is refused before anything runs', async () => {
    write('')
    const command = new RunCommand(folder, ['operator.ts', '--log-framework-level', 'loud'])
    expect(await command.exit).not.toBe(0)
    expect(command.stderr).toContain(
      "option '--log-framework-level <level>' argument 'loud' is invalid. Expected one of debug, info, warn, error.",
    )
  })
})

describe('configureLogging in the file of the operator', { timeout: 30_000 }, () => {
  test('is honoured by kopf run where the command line says nothing', async () => {
    write("configureLogging({ format: 'json', refkey: 'k8s', quiet: true })")
    const lines = await logOf([])
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: 'Settled', severity: 'warn', k8s: { kind: 'KopfExample', name: 'kopf-example-1' } },
    ])
  })

  test('loses to options of the command line, one by one', async () => {
    write("configureLogging({ format: 'json', verbose: true, prefix: false, frameworkLevel: 'error' })")
    expect(await logOf(['--log-format', 'plain'])).toEqual(['In detail', 'Made', 'Settled'])
    expect(await logOf(['--log-format', 'plain', '--log-prefix', '--quiet'])).toEqual([
      '[default/kopf-example-1] Settled',
    ])
  })

  test('loses to environment variables of the command', async () => {
    write("configureLogging({ format: 'json', verbose: true, frameworkLevel: 'error' })")
    const variables = { KOPF_RUN_LOG_FORMAT: 'plain', KOPF_RUN_QUIET: 'true', KOPF_RUN_LOG_PREFIX: 'false' }
    expect(await logOf([], variables)).toEqual(['Settled'])
  })

  test('has a writer of its own, which gets the lines', async () => {
    write(`import { appendFileSync } from 'node:fs'
configureLogging({ format: 'plain', prefix: false, frameworkLevel: 'error', write: (line) => {
  appendFileSync('own.log', line)
  if (line.includes('Settled')) console.log('Settled')
} })`)
    expect(await logOf([])).toEqual([''])
    expect(readFileSync(`${folder.path}/own.log`, 'utf8')).toBe('Made\nSettled\n')
  })

  test('is honoured when another copy of the package is installed beside the operator', async () => {
    write("configureLogging({ format: 'plain', prefix: false, frameworkLevel: 'error' })")
    for (const part of ['package.json', 'dist']) {
      cpSync(join(inject('package'), part), join(folder.path, 'node_modules', 'kopf', part), { recursive: true })
    }
    expect(await logOf(['--verbose'])).toEqual(['In detail', 'Made', 'Settled'])
  })

  test('is honoured by kopf dev, and after each save', async () => {
    write("configureLogging({ format: 'plain', prefix: false, frameworkLevel: 'error' })")
    const command = new KopfCommand(folder, ['dev', 'operator.ts', '--apply', objects])
    await command.until(/Settled/)
    expect(command.stderr).toBe('Made\nSettled\n')
    write("configureLogging({ format: 'json', frameworkLevel: 'error', quiet: true })")
    await command.until(/"message": "Settled"/)
    command.send('SIGTERM')
    expect(await command.exit).toBe(0)
  })

  test('loses to options of the command line of kopf dev', async () => {
    write("configureLogging({ format: 'json', frameworkLevel: 'error' })")
    const args = ['--log-format', 'plain', '--log-framework-level', 'info']
    const command = new KopfCommand(folder, ['dev', 'operator.ts', '--apply', objects, ...args])
    await command.until(/^\[default\/kopf-example-1\] Settled$/m)
    expect(command.stderr).toContain("[default/kopf-example-1] Handler 'second' succeeded.\n")
    command.send('SIGTERM')
    expect(await command.exit).toBe(0)
  })
})
