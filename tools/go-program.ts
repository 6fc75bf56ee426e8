/** Builds a Go program that tests need, from the version that a go.mod below this folder pins, into a cache folder outside the tree. */
import { execFile } from 'node:child_process'
import { access, constants, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export interface GoProgram {
  /** The file name of the program, and of its folder in the cache. */
  readonly name: string
  /** The name in messages. */
  readonly title: string
  /** The required module whose version names the folder in the cache. */
  readonly module: string
  /** The package of the program. */
  readonly command: string
  /** The folder of go.mod. */
  readonly folder: URL
  /** The environment variable that names a program that is already installed. */
  readonly variable: string
}

/** Returns the path of the program. */
export async function ensureGoProgram(program: GoProgram): Promise<string> {
  const installed = process.env[program.variable]
  if (installed) return installed
  const { name } = program
  const path = join(cacheFolder(), name, `${await readVersion(program)}-${process.platform}-${process.arch}`, name)
  if (!(await isProgram(path))) await build(program, path)
  return path
}

async function readVersion({ title, module, folder }: GoProgram): Promise<string> {
  const path = fileURLToPath(new URL('go.mod', folder))
  const line = (await readFile(path, 'utf8')).split('\n').find((one) => one.includes(`${module} v`))
  const version = line === undefined ? undefined : / (v\S+)/.exec(line)?.[1]
  if (version === undefined) throw new Error(`Cannot read the version of ${title}: ${path} does not require it`)
  return version
}

function cacheFolder(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'kopf')
}

async function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

/** Builds beside the final place and renames the program, so that the cache never contains a partial one. */
async function build({ name, title, command, folder: modules, variable }: GoProgram, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const folder = await mkdtemp(join(dirname(path), 'building-'))
  try {
    const program = join(folder, name)
    await promisify(execFile)('go', ['build', '-trimpath', '-ldflags', '-s -w', '-o', program, command], {
      cwd: fileURLToPath(modules),
      env: { ...process.env, CGO_ENABLED: '0' },
    })
    await rename(program, path)
  } catch (error) {
    throw new Error(`Cannot build ${title}: install Go (https://go.dev/dl), or set ${variable} to a program`, {
      cause: error,
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
