/** The types of the packed package: compilers with all module settings, publint and attw. */
import { join, resolve } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { Project } from './packed-project.ts'

const operator = `
import { ApiError, inWorker, Operator, resource, TemporaryError } from 'kopf'
import { type ApiServer, startServer } from 'kopf/server'
import { runHandler, startCluster } from 'kopf/testing'
import { WebhookServer } from 'kopf/webhooks'

interface Database {
  spec: { size: number }
  status?: { phase?: string }
}

const databases = resource<Database>('example.com/v1', 'databases')
export const kopf = new Operator()
kopf.on.startup(({ settings }) => {
  settings.admission.server = new WebhookServer()
})
kopf.on.create(databases, ({ name, spec, retry, patch }) => {
  const size: number = spec.size
  if (retry === 0) throw new TemporaryError(name, { delay: '5m' })
  patch.status.phase = 'Ready'
  // @ts-expect-error: it is a number
  const text: string = spec.size
  // @ts-expect-error: there is no such field
  patch.status.face = 'Ready'
  return { size, text }
})
kopf.on.update(databases, inWorker(new URL('./heavy.js', import.meta.url)))

export async function tryOut(): Promise<ApiServer> {
  await using cluster = await startCluster()
  await using running = await kopf.start(cluster)
  const { outcome } = await runHandler(kopf, { resource: databases, id: 'create', spec: { size: 1 } })
  await using server = await startServer()
  if (outcome.type === 'failed' && outcome.error instanceof ApiError) throw outcome.error
  void [running, server]
  // @ts-expect-error: it is no server
  return 'server'
}
`

const strict = {
  strict: true,
  exactOptionalPropertyTypes: true,
  // Checks the declarations of the package too.
  skipLibCheck: false,
  noEmit: true,
  target: 'es2023',
  lib: ['es2023', 'esnext.disposable'],
  types: ['node'],
}

async function compile(
  files: Readonly<Record<string, string>>,
  options: object,
  compiler: string = resolve('node_modules/typescript'),
): Promise<string> {
  using project = Project.withKopf()
  project.link('@types/node', 'undici-types')
  const settings = { compilerOptions: { ...strict, ...options }, files: Object.keys(files) }
  project.write({ ...files, 'tsconfig.json': JSON.stringify(settings) })
  const { code, stdout } = await project.node(join(compiler, 'lib/tsc.js'))
  return code === 0 ? '' : stdout
}

describe('types of all entry points', { timeout: 120_000 }, () => {
  test.each([
    ['node16', 'node16'],
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
    ['preserve', 'bundler'],
  ])(
    'TypeScript finds the types of all entry points with module %s and resolution %s',
    async (module, moduleResolution) => {
      expect(await compile({ 'operator.ts': operator }, { module, moduleResolution })).toBe('')
    },
  )

  test('TypeScript 5.9 finds the types of all entry points', async () => {
    expect(await compile({ 'operator.ts': operator }, { module: 'nodenext' }, inject('typescript5'))).toBe('')
  })

  test('TypeScript reports an entry point that does not exist', async () => {
    const text = `import { Operator } from 'kopf/operator'\nvoid Operator\n`
    expect(await compile({ 'operator.ts': text }, { module: 'nodenext' })).toContain('TS2307')
  })
})

describe('CommonJS files', { timeout: 120_000 }, () => {
  const text = `import { Operator } from 'kopf'\nexport const kopf = new Operator()\n`

  test('TypeScript suggests a dynamic import in CommonJS files with module node16', async () => {
    const told = await compile({ 'operator.cts': text }, { module: 'node16' })
    expect(told).toMatch(/^operator\.cts\(1,26\): error TS1479: .*Consider writing a dynamic 'import\("kopf"\)'/)
  })

  test('TypeScript accepts an import in CommonJS files with module nodenext', async () => {
    expect(await compile({ 'operator.cts': text }, { module: 'nodenext' })).toBe('')
  })
})

describe('package linters', { timeout: 240_000 }, () => {
  const check = async (...args: string[]) => {
    using project = new Project()
    return project.run(join(resolve('node_modules/.bin'), args[0]!), args.slice(1))
  }

  test('publint finds no problem in the packages', async () => {
    for (const tarball of [inject('tarball'), inject('createTarball')]) {
      const { code, stdout } = await check('publint', 'run', tarball, '--strict')
      expect([code, stdout]).toEqual([0, expect.stringContaining('All good!')])
    }
  })

  test('attw finds no problem in the types, with the profile esm-only', async () => {
    const options = ['--profile', 'esm-only', '--format', 'json']
    const { code, stdout } = await check('attw', inject('tarball'), ...options)
    expect(code).toBe(0)
    const { analysis } = JSON.parse(stdout) as {
      analysis: { entrypoints: object; problems: ReadonlyArray<{ kind: string; resolutionKind?: string }> }
    }
    expect(Object.keys(analysis.entrypoints)).toEqual(['.', './server', './testing', './webhooks', './package.json'])
    const intended = ['node10', 'node16-cjs']
    expect(analysis.problems.filter(({ resolutionKind }) => !intended.includes(resolutionKind ?? ''))).toEqual([])
  })
})
