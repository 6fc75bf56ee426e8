/**
 * Our code in a few files, and what is imported later apart from what is imported first: Node takes its time for every file.
 * What calls functions of users is not minified, for it stands in their stack traces. Libraries are put beside it, see libraries.ts.
 */
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { transform } from 'esbuild'
import { type OutputChunk, type Plugin, rolldown } from 'rolldown'
import { createGrouping } from './chunks.ts'
import { fileOf, writeLibraries } from './libraries.ts'

/** What is imported or started by its path; package.json and package-files.ts know these. */
const entries = [
  'index',
  'server/index',
  'testing/index',
  'webhooks/index',
  'cli/main',
  'cli/compile-process',
  'cli/dev/operator-process',
  'features/workers/thread',
  'util/loop-guard-thread',
]

const target = 'node20.19'

/** Before the name of a library, until it is known from where it is imported. */
const placeholder = 'library:'

/** Returns the files of libraries that have become part of it. */
export async function writeJavaScript(folder: string): Promise<readonly string[]> {
  const libraries = new Set<string>()
  await using bundle = await rolldown({
    input: Object.fromEntries(entries.map((name) => [name, resolve('src', `${name}.ts`)])),
    // All that is Node's is imported by name; told of Node, every file would begin with what makes `require` of it.
    platform: 'neutral',
    transform: { target },
    preserveEntrySignatures: 'allow-extension',
    plugins: [setApart(libraries)],
  })
  const { output } = await bundle.generate({
    dir: folder,
    format: 'esm',
    comments: false,
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ debugName: 'rooms', name: createGrouping(entries) }],
    },
  })
  for (const chunk of output as readonly OutputChunk[]) {
    const path = join(folder, chunk.fileName)
    const text = placeLibraries(chunk)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, isServer(chunk) ? await shrink(text) : text)
  }
  return writeLibraries(libraries, folder)
}

function placeLibraries({ code, fileName }: OutputChunk): string {
  return code.replaceAll(new RegExp(`"${placeholder}([^"]+)"`, 'g'), (_, library: string) => {
    const path = relative(dirname(fileName), fileOf(library))
    return JSON.stringify(path.startsWith('.') ? path : `./${path}`)
  })
}

/** The embedded server: no function of a user is called from there, and it is more than half of our code. */
function isServer({ moduleIds }: OutputChunk): boolean {
  return moduleIds.length > 0 && moduleIds.every((id) => relative('src', id).startsWith('server/'))
}

/** With the names of functions kept, should one of them be in a stack all the same. */
async function shrink(text: string): Promise<string> {
  const { code } = await transform(text, { format: 'esm', target, minify: true, keepNames: true, lineLimit: 120 })
  return code
}

/** Notes which libraries are imported, and leaves them out; what is installed with the package is left to Node. */
function setApart(libraries: Set<string>): Plugin {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const installed = Object.keys({ ...dependencies, ...peerDependencies })
  return {
    name: 'set apart',
    resolveId(source, importer) {
      if (importer === undefined || source.startsWith('.')) return null
      if (source.startsWith('node:') || installed.includes(source)) return { id: source, external: true }
      libraries.add(source)
      return { id: `${placeholder}${source}`, external: true }
    },
  }
}
