/**
 * Finds the real Python Kopf, or has it installed into the user's cache folder, beside the programs of the control plane.
 * Called by the interop tests and the benchmarks. Where pip fetches from is the user's own setting, and none of ours.
 */
import { execFile } from 'node:child_process'
import { access, constants, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

/** The one to interoperate with. */
export const kopfVersion = '1.45.2'

export interface Kopf {
  /** The interpreter that has Kopf. */
  readonly python: string
  /** The command `kopf`. */
  readonly kopf: string
}

const run = promisify(execFile)
const candidates = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11'] as const
const oldest = [3, 11] as const

/** Installs at the first call on a machine, which takes some seconds; afterwards it is a look into a folder. */
export async function ensureKopf(options: { onProgress?: (line: string) => void } = {}): Promise<Kopf> {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const folder = join(cache, 'kopf', `venv-${kopfVersion}`)
  const found = { python: join(folder, 'bin', 'python'), kopf: join(folder, 'bin', 'kopf') }
  if (!(await isComplete(found))) {
    options.onProgress?.(`Installing Python's kopf ${kopfVersion} (once) into ${folder}`)
    await install(folder, found)
  }
  return found
}

async function isComplete({ python, kopf }: Kopf): Promise<boolean> {
  const looks = [python, kopf].map((path) => access(path, constants.X_OK))
  return (await Promise.allSettled(looks)).every(({ status }) => status === 'fulfilled')
}

/** In a folder of this process, which takes the cache's name when all is there: nobody sees half of it. */
async function install(folder: string, found: Kopf): Promise<void> {
  const python = await findPython()
  await mkdir(dirname(folder), { recursive: true })
  const workshop = await mkdtemp(`${folder}.installing-`)
  try {
    await createVenv(python, workshop)
    await installKopf(workshop)
    await repoint(join(workshop, 'bin'), workshop, folder)
    await rename(workshop, folder).catch(async (error: unknown) => {
      // Another process was faster: the first whole folder stays.
      if (!(await isComplete(found))) throw error
    })
  } finally {
    await rm(workshop, { recursive: true, force: true })
  }
}

async function findPython(): Promise<string> {
  const seen: string[] = []
  for (const program of candidates) {
    const version = await versionOf(program)
    if (version === undefined) continue
    const [major, minor] = version.split('.').map(Number) as [number, number]
    if (major === oldest[0] && minor >= oldest[1]) return program
    seen.push(`${program} is ${version}`)
  }
  const state = seen.length === 0 ? '"python3" is not in PATH' : seen.join(', ')
  throw new Error(`Cannot install kopf ${kopfVersion}: ${state}; install Python ${oldest.join('.')} or newer`)
}

async function versionOf(program: string): Promise<string | undefined> {
  try {
    const { stdout } = await run(program, ['-c', 'import platform; print(platform.python_version())'])
    return stdout.trim()
  } catch {
    return undefined
  }
}

async function createVenv(python: string, workshop: string): Promise<void> {
  try {
    await run(python, ['-m', 'venv', workshop])
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(
      `Cannot create a virtual environment with ${python}: ${(stderr || stdout || String(error)).trim()}; ` +
        'on Debian and Ubuntu it comes with the package python3-venv',
      { cause: error },
    )
  }
}

async function installKopf(workshop: string): Promise<void> {
  const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `kopf==${kopfVersion}`]
  try {
    await run(join(workshop, 'bin', 'python'), args)
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string }
    const lines = stderr.trim().split('\n').slice(-5).join('\n')
    throw new Error(`Cannot install kopf ${kopfVersion}: pip failed\n${lines}`, { cause: error })
  }
}

/** The scripts name their interpreter by its whole path, which is about to change. */
async function repoint(bin: string, from: string, to: string): Promise<void> {
  for (const entry of await readdir(bin, { withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(bin, entry.name)
    const text = await readFile(path, 'utf8')
    if (text.includes(from)) await writeFile(path, text.replaceAll(from, to))
  }
}
