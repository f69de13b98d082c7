# Completes smdebug in fish.
function __smdebug_command
    set -l words (commandline -opc)
    test (count $words) -gt 1; and contains -- $words[2] $argv
end

function __smdebug_tensors
    set -l words (commandline -opc)
    test (count $words) -gt 2; and smdebug ls $words[3] --names 2>/dev/null
end

function __smdebug_collections
    set -l words (commandline -opc)
    test (count $words) -gt 2; and smdebug ls $words[3] --collections 2>/dev/null
end

# RULE,PARAMETER=VALUE,...
function __smdebug_rules
    set -l current (string replace -r '^--rule=' '' -- (commandline -ct))
    if string match -q '*,*' -- $current
        set -l rule (string split -m 1 , -- $current)[1]
        set -l before (string replace -r '[^,]*$' '' -- $current)
        for parameter in (smdebug rules --list 2>/dev/null | awk -v rule=$rule '/^[^ ]/ { of = $0 == rule } of && /^    [^ ]/ { print $1 }')
            echo "$before$parameter="
        end
        return
    end
    smdebug rules --list 2>/dev/null | string match -r '^[A-Z].*'
end

complete -c smdebug -n __fish_use_subcommand -f -a ls -d 'list the tensors of a trial, or the trials in a folder'
complete -c smdebug -n __fish_use_subcommand -f -a show -d 'show a tensor over the steps, or its values at one step'
complete -c smdebug -n __fish_use_subcommand -f -a rules -d 'check a trial with the built-in rules'
complete -c smdebug -n __fish_use_subcommand -f -a profile -d 'show where the time of a job goes'
complete -c smdebug -n __fish_use_subcommand -f -a report -d 'write a page about a trial'
complete -c smdebug -n __fish_use_subcommand -f -a serve -d 'show runs in a browser while they are recorded'
complete -c smdebug -n __fish_use_subcommand -f -a diff -d 'show where two trials differ, and where first'
complete -c smdebug -n __fish_use_subcommand -f -a query -d 'run SQL over many trials'
complete -c smdebug -n __fish_use_subcommand -f -a export -d 'write many trials as Parquet, or what is new'
complete -c smdebug -n __fish_use_subcommand -f -a verify -d 'read every record of a trial, and list what is damaged'
complete -c smdebug -n __fish_use_subcommand -f -a tensorboard -d 'export a trial for stock TensorBoard'
complete -c smdebug -n __fish_use_subcommand -f -a doctor -d 'check whether trials can be recorded to a place and read from it'
complete -c smdebug -n __fish_use_subcommand -f -a help -d 'print the options of a command'
complete -c smdebug -n '__smdebug_command help' -f -a 'ls show rules profile report serve diff query export verify tensorboard doctor'
complete -c smdebug -n __fish_use_subcommand -s V -l version -d 'print the version'
complete -c smdebug -s h -l help -d 'print the help'
complete -c smdebug -n '__smdebug_command ls show rules profile report serve diff query export verify tensorboard doctor' -l set -x -d 'set an option of the library'
complete -c smdebug -n '__smdebug_command ls show rules profile diff verify doctor' -l json -d 'print JSON'
complete -c smdebug -n '__smdebug_command ls' -l collection -x -a '(__smdebug_collections)' -d 'list only the tensors of this collection'
complete -c smdebug -n '__smdebug_command ls diff' -l regex -x -d 'select tensors whose names match'
complete -c smdebug -n '__smdebug_command ls' -l collections -d 'print only the names of the collections'
complete -c smdebug -n '__smdebug_command ls' -l names -d 'print only the names'
complete -c smdebug -n '__smdebug_command show diff' -l mode -x -a 'train eval predict global' -d 'use the steps of this mode'
complete -c smdebug -n '__smdebug_command show' -f -a '(__smdebug_tensors)'
complete -c smdebug -n '__smdebug_command show' -l step -x -d 'show the values at this step'
complete -c smdebug -n '__smdebug_command show' -l worker -x -d 'show what this worker saved'
complete -c smdebug -n '__smdebug_command show' -l reduction -x -d 'show these statistics'
complete -c smdebug -n '__smdebug_command show' -l last -x -d 'limit the rows to the last N steps'
complete -c smdebug -n '__smdebug_command show rules diff verify' -l all -d 'show everything'
complete -c smdebug -n '__smdebug_command doctor' -l config -r -d 'also check this configuration file of a hook'
complete -c smdebug -n '__smdebug_command report query' -s o -l output -r -d 'write to this file'
complete -c smdebug -n '__smdebug_command rules report serve query' -s r -l rule -x -a '(__smdebug_rules)' -d 'evaluate this rule'
complete -c smdebug -n '__smdebug_command rules report serve query' -l profile -x -a 'calibrated aws llm' -d 'select the defaults of parameters'
complete -c smdebug -n '__smdebug_command query' -l format -x -a 'table csv json parquet' -d 'write this format'
complete -c smdebug -n '__smdebug_command query export' -l compute -d 'compute statistics that were not saved'
complete -c smdebug -n '__smdebug_command export' -l table -x -a 'tensors scalars' -d 'write this table'
complete -c smdebug -n '__smdebug_command export' -l column -x -d 'write this column'
complete -c smdebug -n '__smdebug_command rules' -s f -l follow -d 'continue until the job ends'
complete -c smdebug -n '__smdebug_command rules' -l list -d 'list the rules'
complete -c smdebug -n '__smdebug_command diff' -l atol -x -d 'allow this absolute difference'
complete -c smdebug -n '__smdebug_command diff' -l noise -r -d 'a run that gives the tolerances'
complete -c smdebug -n '__smdebug_command diff' -l rounding -x -a 'auto float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2' -d 'take tolerances from the rounding of this type'
complete -c smdebug -n '__smdebug_command diff' -l rtol -x -d 'allow this relative difference'
complete -c smdebug -n '__smdebug_command serve' -l port -x -d 'listen on this port'
complete -c smdebug -n '__smdebug_command serve' -l listen -x -d 'listen on this address'
complete -c smdebug -n '__smdebug_command serve' -l unix -r -d 'listen on this socket file'
complete -c smdebug -n '__smdebug_command serve' -l host -x -d 'accept this name of the server'
complete -c smdebug -n '__smdebug_command serve' -l tls-certificate -r -d 'serve https with this certificate'
complete -c smdebug -n '__smdebug_command serve' -l tls-key -r -d 'the key of the certificate'
complete -c smdebug -n '__smdebug_command serve' -l insecure -d 'allow other addresses without TLS'
complete -c smdebug -n '__smdebug_command serve' -l on-finding -x -d 'run this command, or post to this URL, once per finding'
complete -c smdebug -n '__smdebug_command report' -l profile-path -r -d 'the profile of the job'
complete -c smdebug -n '__smdebug_command profile' -l rules -x -a 'calibrated aws' -d 'evaluate the rules'
complete -c smdebug -n '__smdebug_command profile' -s r -l rule -x -d 'evaluate this rule'
complete -c smdebug -n '__smdebug_command profile' -l report-json -r -d 'write a file for each rule'
complete -c smdebug -n '__smdebug_command profile' -l timeline -r -d 'write one trace for Perfetto'
