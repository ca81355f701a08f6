from planproof.cli import main

main()
