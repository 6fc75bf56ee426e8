#!/usr/bin/env node
/** `npm create kopf [folder]`: `kopf init --install`, for users who have nothing installed yet. `--no-install` skips the installation. */
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)
const description = require.resolve('kopf/package.json')
const command = join(dirname(description), require(description).bin.kopf)
const given = process.argv.slice(2)
const args = given.includes('--no-install') ? given : ['--install', ...given]
const { status } = spawnSync(process.execPath, [command, 'init', ...args], { stdio: 'inherit' })
process.exitCode = status ?? 1
