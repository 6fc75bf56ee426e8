/**
 * Writes the type declarations of the entries and of the files they import. The compiler emits declarations for all of `src/`, most
 * of which are internal and not published.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { builtinEntries } from './builtins.ts'

const entries = [
  'index.ts',
  'server/index.ts',
  'testing/index.ts',
  'webhooks/index.ts',
  ...builtinEntries.map((name) => `${name}.ts`),
]

export async function writeDeclarations(folder: string): Promise<void> {
  const all = mkdtempSync(join(tmpdir(), 'kopf-declarations-'))
  try {
    await runCompiler(all)
    await copyReachable(all, folder)
  } finally {
    rmSync(all, { recursive: true, force: true })
  }
}

async function runCompiler(output: string): Promise<void> {
  const compiler = join('node_modules', '.bin', 'tsc')
  try {
    await promisify(execFile)(compiler, ['-p', 'tsconfig.build.json', '--outDir', output])
  } catch (error) {
    const { stdout = '', message } = error as { stdout?: string; message: string }
    throw new Error(`Cannot write the types: ${stdout || message}`)
  }
}

async function copyReachable(from: string, to: string): Promise<void> {
  const reached = new Set(entries)
  // A loop over a Set also visits the elements that are added during the loop.
  for (const source of reached) {
    const declarations = source.replace(/\.ts$/, '.d.ts')
    const text = await readFile(join(from, declarations), 'utf8')
    for (const target of importsIn(text)) reached.add(join(dirname(source), target))
    await mkdir(join(to, dirname(declarations)), { recursive: true })
    await writeFile(join(to, declarations), nameFiles(text))
  }
}

const specifiers = /(\bfrom |\bimport\()(['"])(\.{1,2}\/[^'"]+)\.ts\2/g

function importsIn(text: string): string[] {
  return [...withoutComments(text).matchAll(specifiers)].map(([, , , path]) => `${path}.ts`)
}

/** Code samples in JSDoc have import lines too; they do not name files of the package. */
function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '')
}

/** Changes `./a.ts` to `./a.js` in imports: the file that Node loads, and a form that every version of TypeScript resolves. */
function nameFiles(text: string): string {
  return text
    .split(/(\/\*[\s\S]*?\*\/)/)
    .map((part) => (part.startsWith('/*') ? part : part.replaceAll(specifiers, '$1$2$3.js$2')))
    .join('')
}
