/**
 * Bundles an operator into one program with esbuild, and the modules of its worker threads into files beside it. Returns the files and does not
 * write them. Called by commands/build.ts.
 */

import { dirname, extname, join, posix, relative, resolve, sep } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { type BuildOptions, type BuildResult, build, type Message, type Metafile, type Plugin } from 'esbuild'
import { KopfError } from '../../errors.ts'
import { libraryFile, ownProgram, packageVersion, readPackagedFile } from '../../util/process/package-files.ts'
import { commonOptions, programLoaders } from '../loading/esbuild-options.ts'
import type { LoadTarget } from '../loading/load.ts'
import { toLoadError } from '../loading/load-errors.ts'
import { type BundleFindings, bundlePackages, createFindings, definePlaces } from './bundle-plugins.ts'
import { compactMappings } from './compact-mappings.ts'
import { type InstalledPackage, isOwnFile, type PackageFinder } from './packages.ts'
import { removeRedundantNames } from './redundant-names.ts'
import { ownSource } from './stack-traces.ts'

export interface BundleTask {
  readonly targets: readonly LoadTarget[]
  /** The working directory. */
  readonly folder: string
  /** The absolute path of the program. */
  readonly outfile: string
  /** Names of packages to leave out. */
  readonly external: readonly string[]
  readonly packages: PackageFinder
}

/** A package that the program imports and does not contain. */
export interface ExternalPackage {
  readonly name: string
  /** Undefined if it is not installed. */
  readonly installed: InstalledPackage | undefined
  readonly isNative: boolean
}

export interface OperatorBundle {
  /** The contents of the files to write, by absolute path. The program is the first one. */
  readonly files: ReadonlyMap<string, Uint8Array | string>
  /** Files and folders to copy: the target by the source. */
  readonly copies: ReadonlyMap<string, string>
  /** The bytes of each source file in the written files, by absolute path. */
  readonly bytes: ReadonlyMap<string, number>
  readonly external: readonly ExternalPackage[]
  readonly warnings: readonly string[]
  /** The metafile of the program. */
  readonly metafile: Metafile
}

/** One output of esbuild. */
interface BundledModule {
  readonly outfile: string
  readonly result: BuildResult<{ metafile: true; write: false }>
}

/** The parts of a source map that are read. */
interface ProgramMap {
  readonly sources: readonly string[]
  readonly mappings: string
}

/** Programs of this package that run on threads. */
const threads = ['util/process/loop-guard-thread', 'workers/thread/main'] as const

/** The page of the dashboard, for the option `--dashboard` of the program. See dashboard/assets.ts. */
const packagedFiles = ['index.html', 'dashboard.js', 'dashboard.css', 'icon.svg'].map((name) => `dashboard/${name}.br`)

export async function bundleOperator(task: BundleTask): Promise<OperatorBundle> {
  return new Bundler(task).run()
}

class Bundler {
  readonly #task: BundleTask
  /** The folder whose structure the files beside the program have. */
  readonly #root: string
  /** Packages to leave out: those of the option, and those with native add-ons. */
  readonly #external: Set<string>
  readonly #native = new Map<string, InstalledPackage>()
  readonly #findings: BundleFindings[] = []
  readonly #files = new Map<string, Uint8Array | string>()
  readonly #copies = new Map<string, string>()
  readonly #bytes = new Map<string, number>()
  readonly #warnings = new Set<string>()

  constructor(task: BundleTask) {
    this.#task = task
    this.#root =
      commonFolder(task.targets.filter(({ isFile }) => isFile).map(({ address }) => dirname(address))) ?? task.folder
    this.#external = new Set(task.external)
  }

  async run(): Promise<OperatorBundle> {
    const { outfile, targets } = this.#task
    const program = await this.#bundle(outfile, { stdin: this.#createEntry() })
    this.#add(program)
    const names = targets.map(({ name }) => name).join(', ')
    // The set grows while the modules of worker threads are bundled, which may refer to further files.
    for (const file of this.#references()) {
      if (extname(file) in programLoaders) await this.#addModule(file, names)
      else this.#copies.set(file, resolve(dirname(outfile), this.#placeOf(file)))
    }
    this.#warnOfPlaces()
    return {
      files: this.#files,
      copies: this.#copies,
      bytes: this.#bytes,
      external: this.#externalPackages(),
      warnings: [...this.#warnings],
      metafile: program.result.metafile,
    }
  }

  *#references(): Generator<string> {
    const seen = new Set<string>()
    // A loop over an array also visits the elements that are added during the loop.
    for (const { references } of this.#findings) {
      for (const file of references) {
        if (seen.has(file)) continue
        seen.add(file)
        yield file
      }
    }
  }

  /** A module that a worker thread imports: with its own packages, as its own file, at the place that its URL in the source leads to. */
  async #addModule(file: string, names: string): Promise<void> {
    const { outfile } = this.#task
    const target = resolve(dirname(outfile), this.#placeOf(file).replace(/\.([mc]?)[tj]sx?$/, '.$1js'))
    if (target === outfile) {
      throw new KopfError(
        'KOPF_BUILD',
        `Cannot build ${names}: "${relative(this.#task.folder, file)}" is imported by worker threads and would be written to ` +
          'the file of the program; choose another one with --outfile',
      )
    }
    this.#add(await this.#bundle(target, { entryPoints: [file] }))
  }

  /** Bundles again if a package turns out to have a native add-on: the package as a whole is left out then. */
  async #bundle(outfile: string, entry: BuildOptions): Promise<BundledModule> {
    const findings = createFindings()
    const result = await this.#build(outfile, entry, findings)
    const isComplete = [...findings.native.keys()].every((name) => this.#external.has(name))
    for (const [name, found] of findings.native) {
      this.#external.add(name)
      this.#native.set(name, found)
    }
    if (!isComplete) return this.#bundle(outfile, entry)
    this.#findings.push(findings)
    return { outfile, result }
  }

  async #build(outfile: string, entry: BuildOptions, findings: BundleFindings): Promise<BundledModule['result']> {
    const { folder, packages } = this.#task
    const format = outfile.endsWith('.cjs') ? 'cjs' : 'esm'
    try {
      return await build({
        ...commonOptions(folder),
        ...entry,
        outfile,
        format,
        loader: { ...commonOptions(folder).loader, '.node': 'copy' },
        assetNames: '[name]',
        // Names stay as they are: the ids of handlers depend on them, and so do readable stack traces.
        minifyWhitespace: true,
        minifySyntax: true,
        lineLimit: 200,
        sourcemap: 'linked',
        sourcesContent: false,
        banner: { js: bannerOf(format) },
        metafile: true,
        write: false,
        logOverride: {
          'unsupported-require-call': 'warning',
          'unsupported-dynamic-import': 'warning',
          'indirect-require': 'warning',
        },
        plugins: [
          bundlePackages({ external: this.#external, packages, findings }),
          definePlaces((file) => this.#placeOf(file), findings),
          bundleThreads(folder),
        ],
      })
    } catch (error) {
      throw toLoadError(error, folder)
    }
  }

  /** The place of a source file relative to the folder of the program. Folders outside of the root are renamed, as esbuild does. */
  #placeOf(file: string): string {
    const [, inside] = file.match(/^.*[\\/]node_modules[\\/](.*)$/) ?? []
    const path = inside === undefined ? relative(this.#root, file) : join('node_modules', inside)
    return `./${path.split(sep).join('/').replaceAll('../', '_.._/')}`
  }

  #createEntry(): NonNullable<BuildOptions['stdin']> {
    const { targets, folder, packages } = this.#task
    const text = (value: unknown) => JSON.stringify(value)
    const [first] = targets
    const own = packages.packageOf(first!.isFile ? first!.address : join(folder, 'package.json'))
    const contents = [
      `import { executeBuiltProgram } from ${text(ownProgram('cli/build/built-program'))}`,
      ...threads.map((name, index) => `import thread${index} from ${text(`kopf-thread:${name}`)}`),
      `__kopf_built.threads = { ${threads.map((name, index) => `${text(name)}: thread${index}`).join(', ')} }`,
      `__kopf_built.files = ${text(this.#encodeFiles())}`,
      `__kopf_built.yaml = () => require(${text(libraryFile('yaml'))})`,
      'await executeBuiltProgram({',
      `  version: ${text([own?.name ?? first!.name, own?.version].filter(Boolean).join(' '))},`,
      '  url: __kopf_base,',
      `  names: ${text(targets.map(({ name }) => name))},`,
      `  imports: [${targets.map(({ address }) => `() => import(${text(address)})`).join(', ')}],`,
      '})',
    ].join('\n')
    return { contents, resolveDir: folder, sourcefile: 'kopf-run', loader: 'js' }
  }

  /** The files in base64, which is how a program without files beside it can hold them. */
  #encodeFiles(): Readonly<Record<string, string>> {
    const found = packagedFiles.map((path) => [path, readPackagedFile(path)] as const)
    return Object.fromEntries(
      found.flatMap(([path, body]) => (body === undefined ? [] : [[path, Buffer.from(body).toString('base64')]])),
    )
  }

  #add({ outfile, result }: BundledModule): void {
    const { folder } = this.#task
    for (const { path, contents } of result.outputFiles.toReversed()) this.#files.set(path, contents)
    const removed = this.#addProgram(outfile, result)
    for (const { inputs } of Object.values(result.metafile.outputs)) {
      for (const [input, { bytesInOutput }] of Object.entries(inputs)) {
        this.#count(
          input.startsWith('kopf-thread:') || input === 'kopf-run' ? ownProgram('cli/main') : resolve(folder, input),
          bytesInOutput,
        )
      }
    }
    // All files of this package are one entry of the report.
    this.#count(ownProgram('cli/main'), -removed)
    const isForeign = ({ location }: Message) => location !== null && !isOwnFile(resolve(folder, location.file))
    for (const warning of result.warnings.filter(isForeign)) this.#warnings.add(toWarning(warning))
    if (!this.#files.has(outfile))
      throw new KopfError('KOPF_BUILD', `Cannot build "${outfile}": esbuild wrote no such file`)
  }

  #count(file: string, bytes: number): void {
    this.#bytes.set(file, (this.#bytes.get(file) ?? 0) + bytes)
  }

  /** Adds the program and its source map without redundant calls. Returns how many bytes of this package's code were removed. */
  #addProgram(outfile: string, { outputFiles }: BundledModule['result']): number {
    const program = outputFiles.find(({ path }) => path === outfile)
    const map = outputFiles.find(({ path }) => path === `${outfile}.map`)
    if (program === undefined || map === undefined) return 0
    const parsed = JSON.parse(map.text) as ProgramMap
    const isOwn = parsed.sources.map((source) => isOwnFile(resolve(dirname(map.path), source)))
    const { code, mappings } = removeRedundantNames(
      { code: program.text, mappings: parsed.mappings },
      (source) => isOwn[source] ?? false,
    )
    this.#files.set(outfile, code)
    this.#files.set(map.path, this.#renameSources(map.path, { ...parsed, mappings }))
    return program.contents.length - Buffer.byteLength(code)
  }

  /** Source files get their place beside the program, so that stack traces are the same wherever the program was built. */
  #renameSources(path: string, map: ProgramMap): string {
    const from = relative(dirname(this.#task.outfile), dirname(path)).split(sep).join('/')
    const sources = map.sources.map((source) => {
      const file = resolve(dirname(path), source)
      const isKopf = isOwnFile(file) || source.includes('kopf-thread:') || source.endsWith('kopf-run')
      return posix.relative(from, isKopf ? ownSource : posix.normalize(this.#placeOf(file)))
    })
    return JSON.stringify({ ...map, sources, mappings: compactMappings(map.mappings), names: [] })
  }

  #externalPackages(): ExternalPackage[] {
    const found = new Map(this.#findings.flatMap(({ external }) => [...external]))
    return [...found].map(([name, installed]) => ({ name, installed, isNative: this.#native.has(name) }))
  }

  #warnOfPlaces(): void {
    const { folder, packages } = this.#task
    const show = (file: string) => relative(folder, file)
    const isUsed = (file: string) => (this.#bytes.get(file) ?? 0) > 0
    const unused = (file: string) => !isUsed(file) || isOwnFile(file)
    for (const { unknownReferences, placeUsers, missing } of this.#findings) {
      for (const { name, file } of unknownReferences.filter((one) => !unused(one.file)))
        this.#warnings.add(`${show(file)} names the file "${name}", which does not exist.`)
      for (const file of [...placeUsers].filter((one) => !unused(one))) {
        const owner = /[\\/]node_modules[\\/]/.test(file) ? packages.packageOf(file) : undefined
        this.#warnings.add(
          owner === undefined
            ? `${show(file)} uses its own path. Files that it finds by it are not copied, unless it names them with ` +
                "new URL('./file', import.meta.url): copy them beside the program."
            : `The package ${owner.name} uses the path of its files. If it reads files of its own, leave it out with --external ${owner.name}.`,
        )
      }
      for (const { name } of missing.filter((one) => !unused(one.file)))
        this.#warnings.add(`The package ${name} is imported when the program runs, and is not installed here.`)
    }
  }
}

/** CommonJS code in the bundle calls `require` for Node's own modules. See BuiltLayout in package-files.ts for `__kopf_built`. */
function bannerOf(format: 'esm' | 'cjs'): string {
  const version = JSON.stringify(packageVersion())
  if (format === 'cjs') {
    const names =
      "const __kopf_base = require('node:url').pathToFileURL(__filename).href, __kopf_path = require('node:url').fileURLToPath"
    return `${names}, __kopf_built = { version: ${version}, code: __filename };`
  }
  return [
    "import { createRequire as __kopf_require } from 'node:module';",
    "import { fileURLToPath as __kopf_path } from 'node:url';",
    'const __kopf_base = import.meta.url, require = __kopf_require(__kopf_base),',
    `__kopf_built = { version: ${version}, code: new URL(process.sourceMapsEnabled ? '${ownSource}' : '', __kopf_base).pathname };`,
  ].join(' ')
}

/** Makes the programs for threads importable as compressed text: the program has no file beside it that a thread could run. */
function bundleThreads(folder: string): Plugin {
  return {
    name: 'threads',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^kopf-thread:/ }, ({ path }) => ({
        path: path.slice('kopf-thread:'.length),
        namespace: 'kopf-thread',
      }))
      onLoad({ filter: /.*/, namespace: 'kopf-thread' }, async ({ path }) => {
        const { outputFiles } = await build({
          ...commonOptions(folder),
          entryPoints: [ownProgram(path)],
          format: 'cjs',
          define: { 'import.meta.url': '"file:///kopf-thread.js"' },
          banner: {
            js: `const __kopf_built = { version: ${JSON.stringify(packageVersion())}, code: "[worker eval]" };`,
          },
          keepNames: false,
          minifyWhitespace: true,
          minifySyntax: true,
          write: false,
        })
        // Two programs of 30 kB that share most of their code: compressed, they take a third.
        return { contents: brotliCompressSync(outputFiles[0]!.contents).toString('base64'), loader: 'text' }
      })
    },
  }
}

/** The deepest folder that contains all of these; undefined without folders. */
function commonFolder(folders: readonly string[]): string | undefined {
  return folders.length === 0
    ? undefined
    : folders.reduce((common, folder) => {
        let shared = common
        while (relative(shared, folder).startsWith('..')) shared = dirname(shared)
        return shared
      })
}

/** `operator.ts:3:10: This call to "require" will not be bundled …` */
function toWarning({ text, location }: Message): string {
  return location === null ? text : `${location.file}:${location.line}:${location.column + 1}: ${text}`
}
