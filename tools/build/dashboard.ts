/**
 * Bundles the dashboard's page (src/dashboard-page) into `dashboard/` of the output folder: one document, one script, one style sheet and one icon, each
 * compressed with brotli, the form in which src/dashboard/assets.ts serves them. The script is for browsers, so that it is built apart from our other code.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import { type BuildOptions, build, type Metafile } from 'esbuild'
import type { BundledLibrary } from './libraries.ts'

const source = 'src/dashboard-page'

const options = {
  bundle: true,
  format: 'esm',
  platform: 'browser',
  // The versions of early 2024: the first ones with the CSS function light-dark().
  target: ['chrome123', 'firefox120', 'safari17.5'],
  minify: true,
  jsx: 'automatic',
  jsxImportSource: 'preact',
  // The folder has a tsconfig.json of its own for the compiler; of its options, only those of JSX matter here.
  tsconfigRaw: {},
  legalComments: 'none',
  metafile: true,
  write: false,
  logLevel: 'warning',
} as const satisfies BuildOptions

/** Returns the libraries that the script contains, for the licences and the bill of materials. */
export async function writeDashboard(folder: string): Promise<readonly BundledLibrary[]> {
  const [script, style, page, icon] = await Promise.all([
    build({ ...options, entryPoints: [join(source, 'main.tsx')], outfile: 'dashboard.js' }),
    build({ ...options, entryPoints: [join(source, 'dashboard.css')], outfile: 'dashboard.css' }),
    readFile(join(source, 'index.html')),
    readFile(join(source, 'icon.svg')),
  ])
  const files = {
    'index.html': page,
    'dashboard.js': script.outputFiles[0]!.contents,
    'dashboard.css': style.outputFiles[0]!.contents,
    'icon.svg': icon,
  }
  await mkdir(join(folder, 'dashboard'), { recursive: true })
  await Promise.all(
    Object.entries(files).map(async ([name, contents]) =>
      writeFile(join(folder, 'dashboard', `${name}.br`), await compress(contents)),
    ),
  )
  return [{ file: 'dashboard/dashboard.js.br', sources: librarySources(script.metafile) }]
}

function compress(contents: Uint8Array): Promise<Buffer> {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: contents.length,
  }
  return promisify(brotliCompress)(contents, { params })
}

function librarySources({ inputs }: Metafile): readonly string[] {
  return Object.keys(inputs).filter((input) => input.startsWith('node_modules/'))
}
