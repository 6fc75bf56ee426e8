/**
 * The libraries that our code imports, each as one file: nobody has to install them, and a library is loaded as fast as one file
 * is. Minified, since nobody reads them there; their licences are kept, see licences.ts.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type BuildOptions, build } from 'esbuild'

/** Required by package-files.ts, which the bundler does not see. */
const required = ['yaml']

const common = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  // The sources of modules can be cut down to what is used.
  mainFields: ['module', 'main'],
  minify: true,
  legalComments: 'none',
  metafile: true,
  write: false,
  logLevel: 'warning',
} as const satisfies BuildOptions

/** Where it is put, from the root of what is built. */
export function fileOf(library: string): string {
  const name = library
    .replace(/^@/, '')
    .replace(/\.js$/, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
  return `libraries/${name}.${required.includes(library) ? 'cjs' : 'js'}`
}

/** Returns the files that they were made of. */
export async function writeLibraries(imported: Iterable<string>, folder: string): Promise<readonly string[]> {
  const libraries = [...imported, ...required]
  const files = await Promise.all(libraries.map((library) => writeLibrary(library, `${folder}/${fileOf(library)}`)))
  return files.flat()
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

/** What is not a module may still ask for the platform's own, and an import has no `require`. */
const ownRequire =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);\n"
