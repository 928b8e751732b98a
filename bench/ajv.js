// ajv.js - prints how many checks a second Ajv makes of what schema.c checks. Ajv is
// looked for where node looks for packages, and in build/bench.
const fs = require('fs')
const path = require('path')

const places = [__dirname, path.join(__dirname, '../build/bench')]
const Ajv = require(require.resolve('ajv/dist/2020', { paths: places }))
const read = name => JSON.parse(fs.readFileSync(path.join(__dirname, name)))

const check = new Ajv().compile(read('tool_schema.json'))
const value = read('tool_arguments.json')

function turn(microseconds)
{
    const start = process.cpuUsage()
    let used = 0
    let checks = 0

    for (; used < microseconds; checks += 4096) {
        for (let i = 0; i < 4096; i++) {
            if (!check(value))
                throw new Error('refused')
        }
        used = process.cpuUsage(start).user
    }
    return checks / used * 1e6
}

turn(300000) // node compiles it meanwhile
console.log(turn(300000))
