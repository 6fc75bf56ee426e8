/**
 * Bundles each library that our code imports into one minified file: users do not install it, and Node loads one file instead of
 * many. The licences are kept, see licences.ts.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type BuildOptions, build } from 'esbuild'

/** Loaded with `require` by package-files.ts, which the bundler does not notice. */
const required = ['yaml']

const common = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  // ES modules can be tree-shaken.
  mainFields: ['module', 'main'],
  minify: true,
  legalComments: 'none',
  metafile: true,
  write: false,
  logLevel: 'warning',
} as const satisfies BuildOptions

/** The path of the bundled library, relative to the output folder. */
export function fileOf(library: string): string {
  const name = library
    .replace(/^@/, '')
    .replace(/\.js$/, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
  return `libraries/${name}.${required.includes(library) ? 'cjs' : 'js'}`
}

/** A bundled library, and the source files that it was made of. */
export interface BundledLibrary {
  /** The path relative to the output folder. */
  readonly file: string
  readonly sources: readonly string[]
}

export async function writeLibraries(imported: Iterable<string>, folder: string): Promise<readonly BundledLibrary[]> {
  const write = async (file: string, library: string): Promise<BundledLibrary> => ({
    file,
    sources: await writeLibrary(library, `${folder}/${file}`),
  })
  return Promise.all([...imported, ...required].map((library) => write(fileOf(library), library)))
}

async function writeLibrary(library: string, outfile: string): Promise<readonly string[]> {
  const format = outfile.endsWith('.cjs') ? 'cjs' : 'esm'
  const { metafile, outputFiles } = await build({ ...common, entryPoints: [library], outfile, format })
  const [output] = Object.values(metafile.outputs)
  const needsRequire = format === 'esm' && output!.imports.some(({ kind }) => kind === 'require-call')
  await mkdir(dirname(outfile), { recursive: true })
  await writeFile(outfile, `${needsRequire ? ownRequire : ''}${outputFiles[0]!.text}`)
  return Object.keys(metafile.inputs)
}

/** CommonJS code in a bundle calls `require` for Node's own modules, and ES modules have no `require`. */
const ownRequire =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);\n"
