/** Runs the first example on a pseudo-terminal and returns the lines that a user sees, with ports, folders and times replaced by fixed ones. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** The command that the recording shows. */
export const typedCommand = 'npx kopf run operator.ts --embedded --apply object.yaml'

/** `program` runs the command line: the arguments of Node before those of kopf. */
export async function recordSession(program: readonly string[]): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'kopf-recording-'))
  const args = [process.execPath, ...program, 'run', 'operator.ts', '--embedded', '--apply', 'object.yaml']
  const line = `stty cols 120 rows 40 -echo; exec ${args.map((one) => `'${one}'`).join(' ')}`
  const ways = process.platform === 'darwin' ? ['-q', '/dev/null', 'sh', '-c', line] : ['-qefc', line, '/dev/null']
  const { KUBECONFIG: _, CI: _ci, NODE_ENV: _env, ...inherited } = process.env
  const env = { ...inherited, SHELL: '/bin/sh', TERM: 'xterm', NO_COLOR: '1', HOME: folder, TMPDIR: folder }
  const child = spawn('script', ways, {
    cwd: resolve('examples', '01-minimal'),
    stdio: ['pipe', 'pipe', 'inherit'],
    env,
  })
  let output = ''
  let isAsked = false
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    if (isAsked || !/Caught up with \d+ objects?/.test(output)) return
    isAsked = true
    child.stdin.write('\u0003')
  })
  await new Promise((settle) => child.once('close', settle))
  rmSync(folder, { recursive: true, force: true })
  return toLines(output)
}

function toLines(output: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: matches terminal escape sequences
  const text = output.replaceAll(/\u001b\[[\d;?]*[A-Za-z]/g, '').replaceAll(/[^\n]*\r(?!\n)/g, '')
  const lines = text.split(/\r?\n/).map((line) => line.replace('^C', '').trimEnd())
  const last = lines.findIndex((line) => line.startsWith('Caught up'))
  return lines.slice(0, last + 1).map((line) =>
    line
      .replace(/127\.0\.0\.1:\d+/, '127.0.0.1:43219')
      .replace(/KUBECONFIG=.*\/kopf-server-\w+\/kubeconfig/, 'KUBECONFIG=/tmp/kopf-server-Yq3h1B/kubeconfig')
      .replace(/^\d\d:\d\d:\d\d /, '12:00:00 ')
      .replace(/ in \d+(?:\.\d+)? m?s:/, ' in 0.1 s:'),
  )
}
