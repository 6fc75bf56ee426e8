#!/usr/bin/env node
/**
 * Imitates the log and the exit of `ngrok http` version 3 without opening a tunnel. The URL encodes the options
 * it was started with. The region selects a fault.
 */
import { argv, env, exit, pid, stdout } from 'node:process'

const [command, ...rest] = argv.slice(2)
const target = rest.at(-1)
const region = rest[rest.indexOf('--region') + 1]
const isJson = rest.join(' ').includes('--log stdout --log-format json')
const token = env.NGROK_AUTHTOKEN ?? 'none'

const log = (entry) => stdout.write(`${JSON.stringify({ lvl: 'info', t: new Date().toISOString(), ...entry })}\n`)

log({ msg: 'no configuration paths supplied', obj: 'config' })
if (command !== 'http' || !isJson || argv.join(' ').includes(token)) exit(2)
if (region === 'unauthorized') {
  log({
    err: `authentication failed: it is invalid.\nYour authtoken: ${token}\r\n\r\nERR_NGROK_107`,
    msg: 'failed',
    lvl: 'eror',
  })
  stdout.write(`ERROR:  authentication failed: ${token}\nERROR:  ERR_NGROK_107\n`, () => exit(1))
} else {
  const keeping = setInterval(() => {}, 60_000)
  if (region === 'stubborn') process.on('SIGTERM', () => {})
  else process.on('SIGTERM', () => clearInterval(keeping))
  log({ addr: '127.0.0.1:4040', msg: 'starting web service', obj: 'web' })
  if (region !== 'mute') {
    const url = `https://p${pid}-t${new URL(target).port}-${token.length}.ngrok-free.app`
    log({ addr: target, msg: 'started tunnel', name: 'command_line', obj: 'tunnels', url })
  }
}
