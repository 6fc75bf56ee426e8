/**
 * Bundles our code into a few files, since Node pays for every file it loads; dynamic imports stay separate files. Code that calls
 * user functions is not minified, because it shows up in their stack traces; the server and the code that watches an operator are. Libraries are separate files, see libraries.ts.
 */
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { transform } from 'esbuild'
import { type OutputChunk, type Plugin, rolldown } from 'rolldown'
import { builtinEntries } from './builtins.ts'
import { createGrouping } from './chunks.ts'
import { type BundledLibrary, fileOf, writeLibraries } from './libraries.ts'

/** The files that are imported or started by path; package.json and package-files.ts name the same ones. */
const entries = [
  'index',
  'server/index',
  'testing/index',
  'webhooks/index',
  'cli/main',
  'cli/build/built-program',
  'cli/loading/compile-process',
  'cli/dev/operator-process',
  'workers/thread/main',
  'util/process/loop-guard-thread',
  ...builtinEntries,
]

const target = 'node20.19'

/** Prefix of a library import in the bundle, until the chunk that contains it, and so the relative path, is known. */
const placeholder = 'library:'

/** Returns the bundled libraries. */
export async function writeJavaScript(folder: string): Promise<readonly BundledLibrary[]> {
  const libraries = new Set<string>()
  await using bundle = await rolldown({
    input: Object.fromEntries(entries.map((name) => [name, resolve('src', `${name}.ts`)])),
    // Our code imports Node's modules with the `node:` prefix. With platform "node", every chunk would start with a `require` shim.
    platform: 'neutral',
    transform: { target },
    preserveEntrySignatures: 'allow-extension',
    plugins: [externalizeLibraries(libraries)],
  })
  const { output } = await bundle.generate({
    dir: folder,
    format: 'esm',
    // Bundlers of users drop the built-in kinds that an operator does not import, by the annotation `@__PURE__`.
    comments: { annotation: true, legal: false, jsdoc: false },
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ debugName: 'layers', name: createGrouping(entries) }],
    },
  })
  const chunks = output as readonly OutputChunk[]
  const facades = findFacades(chunks)
  for (const chunk of chunks.filter(({ fileName }) => !facades.has(basename(fileName)))) {
    const path = join(folder, chunk.fileName)
    const text = skipFacades(resolveLibraryImports(chunk), facades)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, isMinified(chunk) ? await minify(text) : text)
  }
  return writeLibraries(libraries, folder)
}

/** A chunk that only gives the exports of another chunk their names: the bundler writes one for a dynamic import of a module that shares its chunk. */
interface Facade {
  readonly target: string
  /** The members of an object with the exports of the facade, from the exports of the target as `m`. */
  readonly members: string
}

/**
 * By the names of their files. Without the facades of the layers that every operator has: `kopf build` bundles a chunk as a whole if one import of it is dynamic.
 */
function findFacades(chunks: readonly OutputChunk[]): ReadonlyMap<string, Facade> {
  const found = new Map<string, Facade>()
  for (const { fileName, isDynamicEntry, code } of chunks) {
    const [, names, target] = code.trim().match(/^export \{([^{}]*)\} from "\.\/([^"/]+)";$/) ?? []
    if (!isDynamicEntry || names === undefined || target === undefined || isLayer.test(target)) continue
    const members = names.split(',').map((name) => {
      const [inner, outer = inner] = name.trim().split(' as ')
      return `${outer}: m.${inner}`
    })
    found.set(basename(fileName), { target, members: members.join(', ') })
  }
  return found
}

const isLayer = /^(base|client|common|operator)-[\w-]{8}\.js$/

/** Imports the targets of facades instead of the facades: Node pays for every file. */
function skipFacades(code: string, facades: ReadonlyMap<string, Facade>): string {
  return code.replaceAll(/\bimport\("([^"]*\/)([^"/]+)"\)/g, (text, folder: string, file: string) => {
    const facade = facades.get(file)
    return facade === undefined ? text : `import("${folder}${facade.target}").then((m) => ({ ${facade.members} }))`
  })
}

function resolveLibraryImports({ code, fileName }: OutputChunk): string {
  return code.replaceAll(new RegExp(`"${placeholder}([^"]+)"`, 'g'), (_, library: string) => {
    const path = relative(dirname(fileName), fileOf(library))
    return JSON.stringify(path.startsWith('.') ? path : `./${path}`)
  })
}

/**
 * Whether the chunk calls no user functions: the embedded server, which is more than half of our code, and the metrics, the journal and the dashboard, which
 * are a part of each program of `kopf build`.
 */
function isMinified({ moduleIds }: OutputChunk): boolean {
  return moduleIds.length > 0 && moduleIds.every((id) => minifiedFolders.test(relative('src', id)))
}

const minifiedFolders = /^(server|dashboard|journal|metrics|serving)\//

/** Keeps the names of functions, so that a stack trace stays readable. */
async function minify(text: string): Promise<string> {
  const { code } = await transform(text, { format: 'esm', target, minify: true, keepNames: true, lineLimit: 120 })
  return code
}

/** Records the imported libraries and keeps them out of the bundle. Dependencies that npm installs are left for Node to resolve. */
function externalizeLibraries(libraries: Set<string>): Plugin {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const installed = Object.keys({ ...dependencies, ...peerDependencies })
  return {
    name: 'externalize libraries',
    resolveId(source, importer) {
      if (importer === undefined || source.startsWith('.')) return null
      if (source.startsWith('node:') || installed.includes(source)) return { id: source, external: true }
      libraries.add(source)
      return { id: `${placeholder}${source}`, external: true }
    },
  }
}
