/** Finds Helm, or builds it from the module that go.mod pins: a minute or two, once per version and machine. Called by tests with charts. */
import { execFile } from 'node:child_process'
import { access, constants, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const moduleFolder = fileURLToPath(new URL('.', import.meta.url))

/** Returns the path of the program. The variable KOPF_TEST_HELM names one that is already installed. */
export async function ensureHelm(): Promise<string> {
  const installed = process.env['KOPF_TEST_HELM']
  if (installed) return installed
  const path = join(cacheFolder(), `${await readVersion()}-${process.platform}-${process.arch}`, 'helm')
  if (!(await isProgram(path))) await build(path)
  return path
}

async function readVersion(): Promise<string> {
  const found = /helm\.sh\/helm\/v3 (v\S+)/.exec(await readFile(join(moduleFolder, 'go.mod'), 'utf8'))
  if (found === null) throw new Error('Cannot read the version of Helm: tools/helm/go.mod does not require it')
  return found[1]!
}

function cacheFolder(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'kopf', 'helm')
}

async function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

/** Builds beside the final place and renames the program, so that the cache never contains a partial one. */
async function build(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const folder = await mkdtemp(join(dirname(path), 'building-'))
  try {
    const program = join(folder, 'helm')
    await promisify(execFile)(
      'go',
      ['build', '-trimpath', '-ldflags', '-s -w', '-o', program, 'helm.sh/helm/v3/cmd/helm'],
      {
        cwd: moduleFolder,
        env: { ...process.env, CGO_ENABLED: '0' },
      },
    )
    await rename(program, path)
  } catch (error) {
    throw new Error('Cannot build Helm: install Go (https://go.dev/dl), or set KOPF_TEST_HELM to a program', {
      cause: error,
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
