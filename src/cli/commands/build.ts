/** `kopf build`: bundles an operator and its packages into one JavaScript file that Node runs without any other file. */
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, parse, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { KopfError } from '../../errors.ts'
import { monotonicMs } from '../../util/async/clock.ts'
import type { OperatorBundle } from '../build/bundle.ts'
import { collect } from '../embedded.ts'
import { addExamples } from '../help.ts'
import { explainFileProblem } from '../read-manifests.ts'
import { print, printNote } from '../terminal.ts'

interface BuildArguments {
  readonly module?: readonly string[]
  readonly outfile?: string
  readonly external?: readonly string[]
  readonly metafile?: string
  readonly json?: boolean
}

export function addBuildCommand(program: Command): void {
  const command = program
    .command('build')
    .summary('bundle an operator into one file for production')
    .description(
      'Bundles the operator in these files, its packages and the part of kopf that runs it into one JavaScript file, which ' +
        '`node` runs with the options of `kopf run`, without node_modules. The operator is not loaded.',
    )
    .argument('[files...]', 'TypeScript or JavaScript files whose default export is an operator')
    .optionsGroup('Operator:')
    .option(
      '-m, --module <name>',
      'also bundle this module, by a name or path as in an import; can be repeated',
      collect,
    )
    .optionsGroup('Output:')
    .option('-o, --outfile <file>', 'write the program to this file (default: dist/ and the name of the first file)')
    .option(
      '--external <package>',
      'do not bundle this package, and import it from node_modules; can be repeated',
      collect,
    )
    .option('--metafile <file>', "write esbuild's metafile to this file, for tools that analyze bundles")
    .option('--json', 'print the report as JSON')
  addExamples(command, [
    'npx kopf build operator.ts',
    'npx kopf build operator.ts backups.ts --outfile build/main.js',
    'npx kopf build operator.ts --external better-sqlite3',
  ]).action(async (files: readonly string[]) => build(command, files, command.opts<BuildArguments>()))
}

async function build(command: Command, files: readonly string[], args: BuildArguments): Promise<void> {
  const { module: modules = [], external = [] } = args
  const [first] = [...files, ...modules]
  if (first === undefined) command.error('error: nothing to build. Name a file, or a module with --module.')
  const startMs = monotonicMs()
  // Imported late: help and usage errors do not need it.
  const [{ findTargets }, { bundleOperator }, { PackageFinder }, { writeProgramBom }, report] = await Promise.all([
    import('../loading/load.ts'),
    import('../build/bundle.ts'),
    import('../build/packages.ts'),
    import('../build/sbom.ts'),
    import('../build/report.ts'),
  ])
  const folder = process.cwd()
  const targets = await findTargets({ files, modules, folder })
  const outfile = resolve(folder, args.outfile ?? join('dist', `${parse(first).name}.js`))
  checkOutfile(
    command,
    outfile,
    targets.map(({ address }) => address),
  )
  const packages = new PackageFinder()
  const own = packages.packageOf(targets[0]!.isFile ? targets[0]!.address : join(folder, 'package.json'))
  const bundle = await bundleOperator({ targets, folder, outfile, external, packages })
  const bom = writeProgramBom({ bundle, packages, own, fallbackName: parse(outfile).name })
  const written = await writeBundle(bundle, outfile, bom)
  if (args.metafile !== undefined) await write(resolve(folder, args.metafile), JSON.stringify(bundle.metafile))
  const ownFolder = own?.folder
  const built = report.createReport({
    bundle,
    outfile,
    folder,
    written,
    packages,
    ownFolder,
    tookMs: monotonicMs() - startMs,
  })
  print(args.json ? JSON.stringify(built, undefined, 2) : report.renderReport(built))
  for (const warning of bundle.warnings) printNote(`Warning: ${warning}`)
  const missing = report.renderExternal(bundle.external, relative(folder, dirname(outfile)) || '.')
  if (missing !== undefined) printNote(missing)
}

function checkOutfile(command: Command, outfile: string, sources: readonly string[]): void {
  const fail = (why: string) =>
    command.error(`error: option '--outfile <file>' argument '${outfile}' is invalid: ${why}.`)
  if (!/\.m?js$/.test(outfile)) fail('expected a name that ends in .js or .mjs')
  if (sources.includes(outfile)) fail('it is a file of the operator, which would be overwritten')
}

/** Writes all files, and returns their sizes by absolute path. */
async function writeBundle(bundle: OperatorBundle, outfile: string, bom: string): Promise<Map<string, number>> {
  const written = new Map<string, number>()
  const add = async (path: string, contents: Uint8Array | string) => {
    await write(path, contents)
    written.set(path, Buffer.byteLength(contents))
  }
  for (const [path, contents] of bundle.files) await add(path, contents)
  const { dir, name } = parse(outfile)
  await add(join(dir, `${name}.sbom.json`), bom)
  const manifest = join(dir, 'package.json')
  if (await isOurs(manifest)) await add(manifest, writeManifest(bundle))
  for (const [source, target] of bundle.copies) {
    await cp(source, target, { recursive: true }).catch((error) => throwWriteError(target, error))
    written.set(target, 0)
  }
  return written
}

const description = 'Written by kopf build'

/** Whether package.json may be written: there is none, or an earlier build has written it. */
async function isOurs(path: string): Promise<boolean> {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  return text === undefined || text.includes(JSON.stringify(description))
}

/** Makes Node run the program as an ES module at once, instead of after an attempt as CommonJS; lists the packages that are left out. */
function writeManifest({ external }: OperatorBundle): string {
  const dependencies = Object.fromEntries(external.map(({ name, installed }) => [name, installed?.version ?? '*']))
  const manifest = { private: true, description, type: 'module', ...(external.length > 0 && { dependencies }) }
  return `${JSON.stringify(manifest, undefined, 2)}\n`
}

async function write(path: string, contents: Uint8Array | string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, contents)
  } catch (error) {
    throwWriteError(path, error)
  }
}

function throwWriteError(path: string, error: unknown): never {
  throw new KopfError('KOPF_BUILD', `Cannot write "${path}": ${explainFileProblem(error)}`, { cause: error })
}
