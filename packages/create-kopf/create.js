#!/usr/bin/env node
/** `npm create kopf [folder]`: the same as `kopf init`, for those who have nothing installed yet. */
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)
const description = require.resolve('kopf/package.json')
const command = join(dirname(description), require(description).bin.kopf)
const { status } = spawnSync(process.execPath, [command, 'init', ...process.argv.slice(2)], { stdio: 'inherit' })
process.exitCode = status ?? 1
