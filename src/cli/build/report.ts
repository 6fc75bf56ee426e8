/** What `kopf build` prints: the written files, the sizes by package, and what is not in the program. */
import { relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { ExternalPackage, OperatorBundle } from './bundle.ts'
import type { PackageFinder } from './packages.ts'

/** The report as data, for `--json`. */
export interface BuildReport {
  readonly outfile: string
  readonly bytes: number
  readonly gzipBytes: number
  /** All written files with their sizes, relative to the working directory. */
  readonly files: ReadonlyArray<{ readonly file: string; readonly bytes: number }>
  /** The bytes of each package in the program and its worker modules, largest first. */
  readonly packages: ReadonlyArray<{ readonly name: string; readonly version?: string; readonly bytes: number }>
  readonly external: ReadonlyArray<{ readonly name: string; readonly version?: string; readonly isNative: boolean }>
  readonly warnings: readonly string[]
  readonly tookMs: number
}

export interface ReportOptions {
  readonly bundle: OperatorBundle
  readonly outfile: string
  readonly folder: string
  /** The sizes of all written files, by absolute path. */
  readonly written: ReadonlyMap<string, number>
  readonly packages: PackageFinder
  /** The folder of the operator's package. */
  readonly ownFolder: string | undefined
  readonly tookMs: number
}

export function createReport({
  bundle,
  outfile,
  folder,
  written,
  packages,
  ownFolder,
  tookMs,
}: ReportOptions): BuildReport {
  const program = bundle.files.get(outfile)!
  return {
    outfile: relative(folder, outfile),
    bytes: Buffer.byteLength(program),
    gzipBytes: gzipSync(program).length,
    files: [...written].map(([path, bytes]) => ({ file: relative(folder, path), bytes })),
    packages: sizesByPackage(bundle, packages, ownFolder),
    external: bundle.external.map(({ name, installed, isNative }) => ({
      name,
      ...(installed?.version !== undefined && { version: installed.version }),
      isNative,
    })),
    warnings: bundle.warnings,
    tookMs,
  }
}

function sizesByPackage(
  { bytes }: OperatorBundle,
  packages: PackageFinder,
  ownFolder: string | undefined,
): BuildReport['packages'] {
  const sizes = new Map<string, { name: string; version?: string; bytes: number }>()
  for (const [file, size] of bytes) {
    const owner = packages.packageOf(file)
    const isOwn = owner === undefined || owner.folder === ownFolder
    const key = isOwn ? '' : owner.folder
    const entry = sizes.get(key) ?? {
      name: isOwn ? 'operator' : owner.name,
      ...(!isOwn && owner.version !== undefined && { version: owner.version }),
      bytes: 0,
    }
    sizes.set(key, { ...entry, bytes: entry.bytes + size })
  }
  return [...sizes.values()].filter((one) => one.bytes > 0).sort((one, other) => other.bytes - one.bytes)
}

export function renderReport(report: BuildReport): string {
  const { packages, files, bytes, gzipBytes, outfile, tookMs } = report
  const rows = packages.map(({ name, version, bytes: size }) => [
    [name, version].filter(Boolean).join(' '),
    toKilobytes(size),
  ])
  const all = files.reduce((sum, file) => sum + file.bytes, 0)
  return [
    'By package:',
    ...toTable(rows),
    '',
    'Written:',
    ...toTable(files.map(({ file, bytes: size }) => [file, toKilobytes(size)])),
    '',
    `Built ${outfile} in ${(tookMs / 1000).toFixed(1)} s: ${toKilobytes(bytes)}, ${toKilobytes(gzipBytes)} compressed; ${toKilobytes(all)} with all files.`,
    `Run it with: node ${outfile} --help`,
  ].join('\n')
}

/** Names the packages that are not in the program, with the command that installs them beside it. */
export function renderExternal(external: readonly ExternalPackage[], outFolder: string): string | undefined {
  if (external.length === 0) return undefined
  const lines = external.map(({ name, installed, isNative }) => {
    const what = [name, installed?.version].filter(Boolean).join(' ')
    return `  ${what}: ${isNative ? 'it has a native add-on' : 'left out by --external'}`
  })
  const names = external.map(({ name, installed }) =>
    installed?.version === undefined ? name : `${name}@${installed.version}`,
  )
  return [
    'Not in the program, and imported from node_modules beside it:',
    ...lines,
    `Install them there: npm install --prefix ${outFolder} ${names.join(' ')}`,
  ].join('\n')
}

function toTable(rows: readonly (readonly string[])[]): string[] {
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map(([name, size]) => `  ${name!.padEnd(widths[0]!)}  ${size!.padStart(widths[1]!)}`)
}

function toKilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} kB`
}
