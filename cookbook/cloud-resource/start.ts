/**
 * `npm start`: runs the operator with `kopf dev`. If CLOUD_URL is not set, it first starts the small cloud provider of cloud-server.ts, which
 * stays while the operator is reloaded. In a cluster this file is not used: the Deployment sets CLOUD_URL and CLOUD_TOKEN.
 */
import { spawn } from 'node:child_process'
import { CloudServer } from './cloud-server.ts'

const port = 8585
const env = { ...process.env }
if (!env['CLOUD_URL']) {
  const token = 'demo-token'
  const cloud = await CloudServer.start({ token, port, latencyMs: 100 }).catch(failToStart)
  env['CLOUD_URL'] = cloud.url
  env['CLOUD_TOKEN'] = token
  process.stdout.write(`CLOUD_URL is not set: started a cloud of this project at ${cloud.url}, token "${token}"\n`)
}

function failToStart(error: NodeJS.ErrnoException): never {
  const advice =
    error.code === 'EADDRINUSE'
      ? `another program uses port ${port}; stop it, or set CLOUD_URL and CLOUD_TOKEN to use a cloud that runs already`
      : error.message
  process.stderr.write(`Cannot start the cloud of this project: ${advice}\n`)
  process.exit(1)
}

const args = ['dev', 'operator.ts', '--apply', 'objects.yaml', ...process.argv.slice(2)]
// A shell finds the command on Windows, too. All arguments are from this file or from the user of the terminal.
const operator = spawn('kopf', args, { env, stdio: 'inherit', shell: process.platform === 'win32' })
// The terminal sends Ctrl-C to both processes: this one waits for the operator.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => operator.kill(signal))
operator.on('error', (error) => {
  process.stderr.write(`Cannot start kopf, use "npm start": ${error.message}\n`)
  process.exit(1)
})
operator.on('exit', (code) => process.exit(code ?? 1))
